internal import StratusEngine

extension StoreError {
    /// What a caller should do about an error: enough to act on, whatever the code.
    public enum Remedy: Hashable, Sendable, CaseIterable {
        /// Nothing is wrong that could be put right: the call ended as it was asked to.
        case nothing
        /// It fails again however often it is tried: tell the user or the operator.
        case giveUp
        /// Make the same call again, after ``StoreError/retryAfter`` or with growing pauses.
        case retryLater
        /// Look at the error of each item, and do what that asks for.
        case treatEachItem
        /// Put right what the others of the batch failed with, and make the call again with all.
        case retryWithOthers
        /// Change what was asked for, and ask again.
        case correctRequest
        /// Make two calls of half the items each, and again so where they fail like this.
        case splitRequest
        /// Merge into the server's record, and save that.
        case mergeAndSave
        /// There is no such item: forget it, or save it as a new one, without its old tag.
        case forgetOrSaveAsNew
        /// Save what it refers to with it or before it; delete what refers to it with it.
        case includeReferences
        /// Save the zone, and make the call again.
        case createZone
        /// Drop what is held of the zone or database, and fetch it again without a token.
        case fetchWithoutToken
        /// See whether the change took effect; make the call again where it did not, or where
        /// doing it twice does no harm.
        case checkOutcome
        /// Delete something, or get more room, before it is tried again.
        case makeRoom
        /// Have the user sign in, or wait until the account can be used.
        case signIn
        /// Only the user can decide: to make a zone again that they removed, to accept an
        /// invitation.
        case askUser
    }
}

extension StoreError.Code {
    /// What a caller should do about an error of this code: to give up where it has no name.
    public var remedy: StoreError.Remedy {
        switch self {
        case .resultsTruncated, .operationCancelled: .nothing
        case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited,
            .zoneBusy, .assetFileModified, .assetNotAvailable:
            .retryLater
        case .partialFailure: .treatEachItem
        case .batchRequestFailed: .retryWithOthers
        case .invalidArguments, .assetFileNotFound, .constraintViolation, .tooManyParticipants,
            .alreadyShared:
            .correctRequest
        case .limitExceeded: .splitRequest
        case .serverRecordChanged: .mergeAndSave
        case .unknownItem: .forgetOrSaveAsNew
        case .referenceViolation: .includeReferences
        case .zoneNotFound: .createZone
        case .changeTokenExpired: .fetchWithoutToken
        case .serverResponseLost: .checkOutcome
        case .quotaExceeded: .makeRoom
        case .notAuthenticated, .accountTemporarilyUnavailable: .signIn
        case .userDeletedZone, .participantMayNeedVerification, .participantAlreadyInvited:
            .askUser
        default: .giveUp
        }
    }
}
