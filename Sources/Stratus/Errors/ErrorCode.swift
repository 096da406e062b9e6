internal import StratusEngine

extension StoreError {
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
        /// There is no network.
        public static let networkUnavailable = Code(rawValue: 3)
        /// There is a network, and the store cannot be reached over it.
        public static let networkFailure = Code(rawValue: 4)
        /// There is no store at that place.
        public static let badContainer = Code(rawValue: 5)
        /// The store cannot be had now: another writer holds it.
        public static let serviceUnavailable = Code(rawValue: 6)
        /// The user has made too many requests; ``StoreError/retryAfter`` says how long to wait.
        public static let requestRateLimited = Code(rawValue: 7)
        /// The program lacks what it needs to make the call at all.
        public static let missingEntitlement = Code(rawValue: 8)
        /// The call needs a user.
        public static let notAuthenticated = Code(rawValue: 9)
        /// The caller may not do this.
        public static let permissionFailure = Code(rawValue: 10)
        /// There is no such item.
        public static let unknownItem = Code(rawValue: 11)
        /// The request makes no sense as it stands.
        public static let invalidArguments = Code(rawValue: 12)
        /// Only a part of the results was given. Obsolete: no call gives it.
        public static let resultsTruncated = Code(rawValue: 13)
        /// Another client saved the record since; ``StoreError/serverRecord`` is its state.
        public static let serverRecordChanged = Code(rawValue: 14)
        /// Refused by a rule of the host, for good.
        public static let serverRejectedRequest = Code(rawValue: 15)
        /// The file of an asset is not there.
        public static let assetFileNotFound = Code(rawValue: 16)
        /// The file of an asset was changed while it was read.
        public static let assetFileModified = Code(rawValue: 17)
        /// The caller is older than the store allows.
        public static let incompatibleVersion = Code(rawValue: 18)
        /// A value that may be there once is there already.
        public static let constraintViolation = Code(rawValue: 19)
        /// The call was cancelled before it took effect.
        public static let operationCancelled = Code(rawValue: 20)
        /// The token is not, or no longer, one of this history: fetch again without one.
        public static let changeTokenExpired = Code(rawValue: 21)
        /// Another item of the same atomic batch failed.
        public static let batchRequestFailed = Code(rawValue: 22)
        /// Too many commits wait for the zone; ``StoreError/retryAfter`` says how long to wait.
        public static let zoneBusy = Code(rawValue: 23)
        /// Not possible in this database.
        public static let badDatabase = Code(rawValue: 24)
        /// The quota of the user, or of the public database, is used up, or the disk is full.
        public static let quotaExceeded = Code(rawValue: 25)
        /// There is no such zone.
        public static let zoneNotFound = Code(rawValue: 26)
        /// Too many items, or too many bytes.
        public static let limitExceeded = Code(rawValue: 27)
        /// The zone went with all that its user had.
        public static let userDeletedZone = Code(rawValue: 28)
        /// A share has too many participants.
        public static let tooManyParticipants = Code(rawValue: 29)
        /// The record, one above it or one below it is shared already.
        public static let alreadyShared = Code(rawValue: 30)
        /// What the record refers to is not there, or others refer to it as their parent.
        public static let referenceViolation = Code(rawValue: 31)
        /// The rules of a managed account forbid it.
        public static let managedAccountRestricted = Code(rawValue: 32)
        /// The invited address does not belong to the user's account yet.
        public static let participantMayNeedVerification = Code(rawValue: 33)
        /// Whether the change took effect is not known; it is after the store was opened again.
        public static let serverResponseLost = Code(rawValue: 34)
        /// An asset cannot be had.
        public static let assetNotAvailable = Code(rawValue: 35)
        /// The account is there and cannot be used yet.
        public static let accountTemporarilyUnavailable = Code(rawValue: 36)
        /// The user is invited already, and has not accepted that yet.
        public static let participantAlreadyInvited = Code(rawValue: 37)
    }
}

extension StoreError.Code: CaseIterable {
    /// All codes that have a name.
    public static let allCases = (1...names.count).map { Self(rawValue: $0) }

    /// In order of their numbers, from 1 on.
    private static let names = [
        "internalError", "partialFailure", "networkUnavailable", "networkFailure", "badContainer",
        "serviceUnavailable", "requestRateLimited", "missingEntitlement", "notAuthenticated",
        "permissionFailure", "unknownItem", "invalidArguments", "resultsTruncated",
        "serverRecordChanged", "serverRejectedRequest", "assetFileNotFound", "assetFileModified",
        "incompatibleVersion", "constraintViolation", "operationCancelled", "changeTokenExpired",
        "batchRequestFailed", "zoneBusy", "badDatabase", "quotaExceeded", "zoneNotFound",
        "limitExceeded", "userDeletedZone", "tooManyParticipants", "alreadyShared",
        "referenceViolation", "managedAccountRestricted", "participantMayNeedVerification",
        "serverResponseLost", "assetNotAvailable", "accountTemporarilyUnavailable",
        "participantAlreadyInvited",
    ]

    /// The code's name as it is written here; nil for a number that has none.
    public var name: String? {
        (1...Self.names.count).contains(rawValue) ? Self.names[rawValue - 1] : nil
    }
}

extension StoreError.Code: CustomStringConvertible {
    /// Name and number.
    public var description: String { name.map { "\($0), \(rawValue)" } ?? "\(rawValue)" }
}
