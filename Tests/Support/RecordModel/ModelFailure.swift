/// Why the model refuses something, by the numbers of CKError: semantics 10.
package enum ModelCode: Int, Sendable {
    case internalError = 1
    case notAuthenticated = 9
    case permissionFailure = 10
    case unknownItem = 11
    case invalidArguments = 12
    case serverRecordChanged = 14
    case changeTokenExpired = 21
    case batchRequestFailed = 22
    case badDatabase = 24
    case zoneNotFound = 26
    case limitExceeded = 27
    case userDeletedZone = 28
    case referenceViolation = 31
}

/// What a refused item or call is told.
package struct ModelFailure: Error, Hashable, Sendable {
    package var code: ModelCode
    /// At a conflict: the record as it is.
    package var server: ModelRecord?
    /// At a conflict: the record that the client began with, which is the only ancestor there may
    /// be, and whether there must be one.
    package var base: ModelRecord?
    package var needsBase = false

    package init(_ code: ModelCode) { self.code = code }
}

package typealias ModelResult = Result<ModelRecord, ModelFailure>
