package import Stratus

/// What an error of the store is called in Web Services.
package struct GatewayError: Equatable {
    package var status: Int
    package var serverErrorCode: String

    /// - Parameter isCreation: whether a record was to be made, whose name then was taken.
    package init(_ code: StoreError.Code, isCreation: Bool = false) {
        (status, serverErrorCode) =
            switch code.rawValue {
            case 1: (500, "INTERNAL_ERROR")
            case 6, 23: (503, "TRY_AGAIN_LATER")
            case 7: (429, "THROTTLED")
            case 9: (401, "AUTHENTICATION_FAILED")
            case 10: (403, "ACCESS_DENIED")
            case 11, 28: (404, "NOT_FOUND")
            case 14: (409, isCreation ? "EXISTS" : "CONFLICT")
            case 19: (409, "UNIQUE_FIELD_ERROR")
            case 22: (400, "ATOMIC_ERROR")
            case 25: (413, "QUOTA_EXCEEDED")
            case 26: (404, "ZONE_NOT_FOUND")
            case 31: (412, "VALIDATING_REFERENCE_ERROR")
            default: (400, "BAD_REQUEST")
            }
    }

    /// A call that is not built yet.
    static let notImplemented = {
        var error = GatewayError(.invalidArguments)
        error.status = 501
        error.serverErrorCode = "NOT_IMPLEMENTED"
        return error
    }()
}

extension StoreError {
    init(_ mismatch: Mismatch) {
        let place = mismatch.path.isEmpty ? "the request" : mismatch.path
        self.init(.invalidArguments, "\(place) \(mismatch.reason)")
    }

    /// The sentence, and where the store is damaged.
    var sentence: String {
        guard let place else { return reason }
        return "\(reason) at \(place.file), byte \(place.byte): \(place.kind)"
    }
}

extension StoreError.Cause {
    /// The cause in a word. Paths of the host and names of processes are not for callers.
    var name: String {
        switch self {
        case .damaged: "damaged"
        case .newerFormat: "newerFormat"
        case .locked: "locked"
        case .poisoned: "poisoned"
        case .fencedOut: "fencedOut"
        case .tooManyFiles: "tooManyFiles"
        case .tooManyThreads: "tooManyThreads"
        case .inputOutput: "inputOutput"
        case .notPermitted: "notPermitted"
        case .closed: "closed"
        case .changeToken(let difference): "changeToken.\(difference.rawValue)"
        case .validator(let name, let refusal):
            "validator.\(name).\(refusal.domain).\(refusal.code)"
        case .trigger(let name, let refusal):
            "trigger.\(name).\(refusal.domain).\(refusal.code)"
        case .triggerEffect(let name): "triggerEffect.\(name)"
        case .triggerDepth(let name, _): "triggerDepth.\(name)"
        case .duplicate: "duplicate"
        case .duplicateSubscription: "duplicateSubscription"
        }
    }
}
