import Stratus
import Testing

// Errors tell a caller what to do without a word being read out of them.

/// Whether a call may be made again, as CloudKit's documentation says: as it is (`again`), after
/// something was put right (`corrected`), never, or neither.
private enum Retry { case again, corrected, never, neither }

private typealias Row = (
    number: Int, name: String, code: StoreError.Code, retry: Retry, remedy: StoreError.Remedy
)

private let table: [Row] = [
    (1, "internalError", .internalError, .never, .giveUp),
    (2, "partialFailure", .partialFailure, .corrected, .treatEachItem),
    (3, "networkUnavailable", .networkUnavailable, .again, .retryLater),
    (4, "networkFailure", .networkFailure, .again, .retryLater),
    (5, "badContainer", .badContainer, .never, .giveUp),
    (6, "serviceUnavailable", .serviceUnavailable, .again, .retryLater),
    (7, "requestRateLimited", .requestRateLimited, .again, .retryLater),
    (8, "missingEntitlement", .missingEntitlement, .never, .giveUp),
    (9, "notAuthenticated", .notAuthenticated, .corrected, .signIn),
    (10, "permissionFailure", .permissionFailure, .never, .giveUp),
    (11, "unknownItem", .unknownItem, .corrected, .forgetOrSaveAsNew),
    (12, "invalidArguments", .invalidArguments, .corrected, .correctRequest),
    (13, "resultsTruncated", .resultsTruncated, .neither, .nothing),
    (14, "serverRecordChanged", .serverRecordChanged, .corrected, .mergeAndSave),
    (15, "serverRejectedRequest", .serverRejectedRequest, .never, .giveUp),
    (16, "assetFileNotFound", .assetFileNotFound, .corrected, .correctRequest),
    (17, "assetFileModified", .assetFileModified, .again, .retryLater),
    (18, "incompatibleVersion", .incompatibleVersion, .never, .giveUp),
    (19, "constraintViolation", .constraintViolation, .corrected, .correctRequest),
    (20, "operationCancelled", .operationCancelled, .neither, .nothing),
    (21, "changeTokenExpired", .changeTokenExpired, .corrected, .fetchWithoutToken),
    (22, "batchRequestFailed", .batchRequestFailed, .corrected, .retryWithOthers),
    (23, "zoneBusy", .zoneBusy, .again, .retryLater),
    (24, "badDatabase", .badDatabase, .never, .giveUp),
    (25, "quotaExceeded", .quotaExceeded, .corrected, .makeRoom),
    (26, "zoneNotFound", .zoneNotFound, .corrected, .createZone),
    (27, "limitExceeded", .limitExceeded, .corrected, .splitRequest),
    (28, "userDeletedZone", .userDeletedZone, .corrected, .askUser),
    (29, "tooManyParticipants", .tooManyParticipants, .corrected, .correctRequest),
    (30, "alreadyShared", .alreadyShared, .corrected, .correctRequest),
    (31, "referenceViolation", .referenceViolation, .corrected, .includeReferences),
    (32, "managedAccountRestricted", .managedAccountRestricted, .never, .giveUp),
    (33, "participantMayNeedVerification", .participantMayNeedVerification, .corrected, .askUser),
    (34, "serverResponseLost", .serverResponseLost, .again, .checkOutcome),
    (35, "assetNotAvailable", .assetNotAvailable, .again, .retryLater),
    (36, "accountTemporarilyUnavailable", .accountTemporarilyUnavailable, .corrected, .signIn),
    (37, "participantAlreadyInvited", .participantAlreadyInvited, .corrected, .askUser),
]

struct ErrorTests {
    @Test func `every code has CloudKit's number and name, and says what to do`() {
        #expect(StoreError.Code.allCases == table.map(\.code))
        for row in table {
            #expect(row.code.rawValue == row.number)
            #expect(row.code.name == row.name)
            #expect(row.code.remedy == row.remedy, "\(row.name)")
            #expect(StoreError(row.code, "so").remedy == row.remedy, "\(row.name)")
        }
    }

    @Test func `what to do fits whether CloudKit says that a call may be made again`() {
        for row in table {
            switch row.remedy {
            case .retryLater, .checkOutcome: #expect(row.retry == .again, "\(row.name)")
            case .giveUp: #expect(row.retry == .never, "\(row.name)")
            case .nothing: #expect(row.retry == .neither, "\(row.name)")
            default: #expect(row.retry == .corrected, "\(row.name)")
            }
        }
        #expect(Set(table.map(\.remedy)) == Set(StoreError.Remedy.allCases), "none without a code")
    }

    @Test func `a code without a name is one to give up on`() {
        for number in [0, 38, -1, .max, .min] {
            #expect(StoreError.Code(rawValue: number).name == nil)
            #expect(StoreError.Code(rawValue: number).remedy == .giveUp)
        }
    }

    @Test func `an item too large for a call of its own is no matter of fewer items`() {
        var error = StoreError(.limitExceeded, "too large")
        #expect(error.remedy == .splitRequest)  // C36
        error.item = .record(noteID("a"))
        #expect(error.remedy == .correctRequest)
    }

    @Test func `an error names the record or the zone that it is about`() {
        var error = StoreError(.unknownItem, "gone")
        #expect(error.recordID == nil && error.zoneID == nil)
        error.item = .record(noteID("a"))
        #expect(error.recordID == noteID("a") && error.zoneID == notes)
        error.item = .zone(notes)
        #expect(error.recordID == nil && error.zoneID == notes)
    }

    // C22, C56
    @Test func `the errors of a call are found by record and by zone`() {
        var error = StoreError(.partialFailure, "some")
        error.partialErrors[.zone(notes)] = StoreError(.zoneNotFound, "none")
        error.partialErrors[.record(noteID("a"))] = StoreError(.unknownItem, "none")
        #expect(error.partialErrors[.zone(notes)]?.code == .zoneNotFound)
        #expect(error.partialErrors[.record(noteID("a"))]?.code == .unknownItem)
        #expect(error.remedy == .treatEachItem)
    }

    @Test func `an error is no larger than a reference`() {
        #expect(MemoryLayout<StoreError>.size == MemoryLayout<AnyObject>.size)
    }
}
