internal import StratusEngine

/// The one error of Stratus: a code to branch on, a fixed reason, and everything else as data.
///
/// Codes and raw values are those of CloudKit's `CKError` (rules: `Formats/README.md`, "Errors").
public struct StoreError: Error, Sendable, Equatable {
    /// What an error is about, where it is about one thing.
    public enum Item: Hashable, Sendable {
        /// A record.
        case record(Record.ID)
        /// A zone.
        case zone(RecordZone.ID)
        /// A subscription.
        case subscription(Subscription.ID)
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
        /// The record that cannot be read whole because of it, where that is known.
        public var record: Record.ID?
        /// The field of the record that is concerned.
        public var field: String?
    }

    /// Where something is wrong with a text that the caller gave.
    public struct TextPlace: Sendable, Hashable {
        /// From 1 on.
        public var line: Int
        /// In Unicode scalars, from 1 on.
        public var column: Int
    }

    /// What lies below an ``Code/internalError`` and some others.
    public enum Cause: Sendable, Equatable {
        /// Bytes are not what was written; ``StoreError/place`` tells where.
        case damaged
        /// The store was written by a newer version.
        case newerFormat
        /// Another writer, named here, holds the store.
        case locked(holder: String)
        /// An earlier sync failed: the store takes no changes until it is opened again.
        case poisoned
        /// The store's directory, or the file named here, was removed, replaced or added while the
        /// container was open: it takes no changes until it is opened again.
        case fencedOut(String)
        /// The disk or the file system failed; the text names call and file.
        case inputOutput(String)
        /// The process, or the system, has as many files open as it may.
        case tooManyFiles
        /// The process, its user or its control group has as many threads as it may.
        case tooManyThreads
        /// The file system does not let us.
        case notPermitted(String)
        /// The container was closed.
        case closed
        /// A change token is not one of the feed that was asked for.
        case changeToken(ChangeToken.Difference)
        /// A validator of the host, named here, refuses the change for this reason.
        case validator(name: String, RuleRefusal)
        /// A trigger of the host, named here, refuses the change for this reason.
        case trigger(name: String, RuleRefusal)
        /// What a trigger of the host, named here, added to the commit cannot be done;
        /// ``StoreError/partialErrors`` says of which record that is so, and why.
        case triggerEffect(name: String)
        /// Triggers call each other too deep, most often in a circle: the last one that wrote, and
        /// the record that it wrote.
        case triggerDepth(name: String, Record.ID)
        /// A record would have the same values in these fields as another one, which a unique index
        /// forbids; the other one, where the caller may read it.
        case duplicate(fields: [String], of: Record.ID?)
        /// A subscription would say the same as the user's other one of that ID, which the profile
        /// `.cloudKit` forbids: CloudKit's internal code 2032.
        case duplicateSubscription(of: Subscription.ID)
    }

    /// In a box, since results are moved about far more often than anything fails.
    private indirect enum Box: Sendable, Equatable {
        case content(Content)
    }

    private struct Content: Sendable, Equatable {
        var code: Code
        var reason: String
        var item: Item?
        var cause: Cause?
        var place: Place?
        var otherPlaces: [Place] = []
        var textPlace: TextPlace?
        var retryAfter: Duration?
        var clientRecord: Record?
        var serverRecord: Record?
        var ancestorRecord: Record?
        var partialErrors: [Item: StoreError] = [:]
        var needsFullBackup = false
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
    /// What it is about; nil where that is the whole call.
    public var item: Item? {
        get { content.item }
        set { content.item = newValue }
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
    /// All places that are damaged, as far as the call found them; ``place`` is the first.
    public var places: [Place] { (content.place.map { [$0] } ?? []) + content.otherPlaces }
    /// Where a predicate or a schema is wrong; the reason says so, too.
    public var textPlace: TextPlace? {
        get { content.textPlace }
        set { content.textPlace = newValue }
    }
    /// How long to wait before the same call is made again, where the store can tell.
    public var retryAfter: Duration? {
        get { content.retryAfter }
        set { content.retryAfter = newValue }
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
    /// Of a ``Code/partialFailure``: an error for each item that failed. Of an index that cannot be
    /// unique: one for each record in the way, the first 100.
    public var partialErrors: [Item: StoreError] {
        get { content.partialErrors }
        set { content.partialErrors = newValue }
    }
    /// Of a backup since an archive: whether that archive is what cannot be used, so that a full
    /// backup is possible all the same.
    public internal(set) var needsFullBackup: Bool {
        get { content.needsFullBackup }
        set { content.needsFullBackup = newValue }
    }
}

extension StoreError {
    /// The record concerned.
    public var recordID: Record.ID? {
        if case .record(let id) = item { id } else { nil }
    }

    /// The zone concerned, or that of the record concerned.
    public var zoneID: RecordZone.ID? {
        switch item {
        case .record(let id): id.zoneID
        case .zone(let id): id
        case .subscription, nil: nil
        }
    }

    /// What the caller should do.
    public var remedy: Remedy {
        // Half of a request is of no help where one item alone is too large.
        if code == .limitExceeded, item != nil { return .correctRequest }
        return code.remedy
    }

    /// The same error of more places.
    func adding(_ places: [Place]) -> StoreError {
        var error = self
        error.content.otherPlaces += places
        return error
    }

    /// The same error at other places, of which there is one at least.
    func replacing(places: [Place]) -> StoreError {
        var error = self
        error.place = places.first
        error.content.otherPlaces = Array(places.dropFirst())
        return error
    }

    func with(_ recordID: Record.ID) -> StoreError {
        var error = self
        error.item = .record(recordID)
        return error
    }

    func with(_ zoneID: RecordZone.ID) -> StoreError {
        var error = self
        error.item = .zone(zoneID)
        return error
    }
}

extension StoreError: CustomStringConvertible {
    /// Code, reason and place in one line.
    public var description: String {
        var text = "\(reason) (\(code))"
        if let place { text += " at \(place.text): \(place.kind)" }
        if let recordID { text += " [record \(recordID.recordName)]" }
        if let zoneID { text += " [zone \(zoneID.zoneName)]" }
        return text
    }
}

extension StoreError.Place {
    /// File and byte; where only an offset of the journal is known, that.
    fileprivate var text: String {
        file.isEmpty ? "offset \(offset ?? 0) of the journal" : "\(file), byte \(byte)"
    }
}
