import Stratus
import StratusGateway
import Testing

/// The names of errors in Web Services: a table of its own beside that of the code.
struct GatewayErrorTests {
    private static let table: [Int: (Int, String)] = [
        1: (500, "INTERNAL_ERROR"), 6: (503, "TRY_AGAIN_LATER"), 23: (503, "TRY_AGAIN_LATER"),
        7: (429, "THROTTLED"), 9: (401, "AUTHENTICATION_FAILED"), 10: (403, "ACCESS_DENIED"),
        11: (404, "NOT_FOUND"), 28: (404, "NOT_FOUND"), 14: (409, "CONFLICT"),
        19: (409, "UNIQUE_FIELD_ERROR"), 22: (400, "ATOMIC_ERROR"), 25: (413, "QUOTA_EXCEEDED"),
        26: (404, "ZONE_NOT_FOUND"), 31: (412, "VALIDATING_REFERENCE_ERROR"),
    ]

    @Test(arguments: 1...40)
    func `an error has its status and name`(code: Int) {
        let error = GatewayError(StoreError.Code(rawValue: code))
        let expected = Self.table[code] ?? (400, "BAD_REQUEST")
        #expect(error.status == expected.0 && error.serverErrorCode == expected.1)
    }

    @Test func `a name that is taken is no conflict`() {
        let error = GatewayError(.serverRecordChanged, isCreation: true)
        #expect(error.status == 409 && error.serverErrorCode == "EXISTS")
        #expect(GatewayError(.zoneNotFound, isCreation: true).serverErrorCode == "ZONE_NOT_FOUND")
    }
}
