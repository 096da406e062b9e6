internal import FoundationEssentials
package import Stratus

extension StoreNotification {
    /// The payload that a device is sent, as a value of JSON.
    package func payloadJSON() throws(StoreError) -> JSONValue {
        let bytes = [UInt8](payload())
        do throws(JSONError) {
            return try JSONReader.read(bytes.span)
        } catch {
            throw StoreError(
                .internalError, "the payload of \(id) is no JSON: \(error.reason)")
        }
    }
}
