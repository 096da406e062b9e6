/// The one error of Stratus: a code to branch on, a fixed reason, and the place as data.
///
/// Codes and raw values are those of CloudKit's `CKError` (rules: `Formats/README.md`, "Errors").
public struct StoreError: Error, Sendable, Equatable {
    /// What went wrong, in a set that may grow.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// CloudKit's number.
        public let rawValue: Int
        /// The code of that number.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The store failed: damage, a failed disk, a mistake of ours. ``StoreError/cause`` tells.
        public static let internalError = Code(rawValue: 1)
        /// Some items failed; ``StoreError/partialErrors`` has an error for each.
        public static let partialFailure = Code(rawValue: 2)
        /// There is no store at that place.
        public static let badContainer = Code(rawValue: 5)
        /// Another writer holds the store; try again.
        public static let serviceUnavailable = Code(rawValue: 6)
        /// The call needs a user.
        public static let notAuthenticated = Code(rawValue: 9)
        /// The caller may not do this.
        public static let permissionFailure = Code(rawValue: 10)
        /// There is no such record.
        public static let unknownItem = Code(rawValue: 11)
        /// The request makes no sense as it stands.
        public static let invalidArguments = Code(rawValue: 12)
        /// The record was saved by somebody else since; ``StoreError/serverRecord`` is its state.
        public static let serverRecordChanged = Code(rawValue: 14)
        /// The call was cancelled before it took effect.
        public static let operationCancelled = Code(rawValue: 20)
        /// The token is not, or no longer, one of this history: fetch again without one.
        public static let changeTokenExpired = Code(rawValue: 21)
        /// Another item of the same atomic batch failed.
        public static let batchRequestFailed = Code(rawValue: 22)
        /// Not possible in this database.
        public static let badDatabase = Code(rawValue: 24)
        /// The disk is full.
        public static let quotaExceeded = Code(rawValue: 25)
        /// There is no such zone.
        public static let zoneNotFound = Code(rawValue: 26)
        /// Too large.
        public static let limitExceeded = Code(rawValue: 27)
        /// Whether the change took effect is not known; it is after the store was opened again.
        public static let serverResponseLost = Code(rawValue: 34)
    }

    /// Where something is wrong with the store itself.
    public struct Place: Sendable, Hashable {
        /// The file's name inside the store.
        public var file: String
        /// In bytes from the start of the file.
        public var byte: Int
        /// The journal offset, where the place has one.
        public var offset: UInt64?
        /// What is wrong there, as a stable name.
        public var kind: String
    }

    /// What lies below an ``Code/internalError`` and some others.
    public enum Cause: Sendable, Hashable {
        /// Bytes are not what was written; ``StoreError/place`` tells where.
        case damaged
        /// The store was written by a newer version.
        case newerFormat
        /// Another writer, named here, holds the store.
        case locked(holder: String)
        /// An earlier sync failed: the store takes no changes until it is opened again.
        case poisoned
        /// The disk or the file system failed; the text names call and file.
        case inputOutput(String)
        /// The file system does not let us.
        case notPermitted(String)
        /// The container was closed.
        case closed
    }

    /// In a box, since results are moved about far more often than anything fails.
    private indirect enum Box: Sendable, Equatable {
        case content(Content)
    }

    private struct Content: Sendable, Equatable {
        var code: Code
        var reason: String
        var cause: Cause?
        var place: Place?
        var recordID: Record.ID?
        var zoneID: RecordZone.ID?
        var clientRecord: Record?
        var serverRecord: Record?
        var ancestorRecord: Record?
        var partialErrors: [Record.ID: StoreError] = [:]
        var mustWait = false
    }

    private var box: Box

    private var content: Content {
        get {
            switch box {
            case .content(let content): content
            }
        }
        set { box = .content(newValue) }
    }

    /// An error of `code` with a reason.
    public init(_ code: Code, _ reason: String) {
        box = .content(Content(code: code, reason: reason))
    }

    /// What went wrong.
    public var code: Code {
        get { content.code }
        set { content.code = newValue }
    }
    /// The same in a fixed sentence.
    public var reason: String {
        get { content.reason }
        set { content.reason = newValue }
    }
    /// What lies below it.
    public var cause: Cause? {
        get { content.cause }
        set { content.cause = newValue }
    }
    /// Where the store is damaged.
    public var place: Place? {
        get { content.place }
        set { content.place = newValue }
    }
    /// The record concerned.
    public var recordID: Record.ID? {
        get { content.recordID }
        set { content.recordID = newValue }
    }
    /// The zone concerned.
    public var zoneID: RecordZone.ID? {
        get { content.zoneID }
        set { content.zoneID = newValue }
    }
    /// Of a conflict: what the caller wanted to save.
    public var clientRecord: Record? {
        get { content.clientRecord }
        set { content.clientRecord = newValue }
    }
    /// Of a conflict: what the record is now, with its tag.
    public var serverRecord: Record? {
        get { content.serverRecord }
        set { content.serverRecord = newValue }
    }
    /// Of a conflict: what the caller's edits began from.
    public var ancestorRecord: Record? {
        get { content.ancestorRecord }
        set { content.ancestorRecord = newValue }
    }
    /// Of a ``Code/partialFailure``: an error for each record that failed.
    public var partialErrors: [Record.ID: StoreError] {
        get { content.partialErrors }
        set { content.partialErrors = newValue }
    }
    /// The answer lies on the disk, and who asked may not wait for it: to be asked again by
    /// somebody who may. No caller of the library ever sees it.
    var mustWait: Bool {
        get { content.mustWait }
        set { content.mustWait = newValue }
    }
}

extension StoreError: CustomStringConvertible {
    /// Code, reason and place in one line.
    public var description: String {
        var text = "\(reason) (\(code.rawValue))"
        if let place { text += " at \(place.file), byte \(place.byte): \(place.kind)" }
        if let recordID { text += " [record \(recordID.recordName)]" }
        if let zoneID { text += " [zone \(zoneID.zoneName)]" }
        return text
    }

    func with(_ recordID: Record.ID) -> StoreError {
        var error = self
        error.recordID = recordID
        return error
    }

    func with(_ zoneID: RecordZone.ID) -> StoreError {
        var error = self
        error.zoneID = zoneID
        return error
    }
}
