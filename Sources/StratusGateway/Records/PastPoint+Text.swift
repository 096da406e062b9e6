internal import FoundationEssentials
package import Stratus

extension Container {
    /// The moment that a text names: an offset, a change token, a time, or `mark:` and the name of a
    /// mark, of which the latest is meant.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where it is none of these, `unknownItem` where
    ///   there is no such mark.
    package nonisolated(nonsending) func point(
        _ text: String
    ) async throws(StoreError) -> PastPoint {
        if let offset = UInt64(text) { return .offset(offset) }
        if text.hasPrefix("mark:") {
            let name = String(text.dropFirst(5))
            guard let mark = try await marks().last(where: { $0.name == name }) else {
                throw StoreError(.unknownItem, "the store has no mark \(name)")
            }
            return .mark(mark)
        }
        // As shown, times have milliseconds: what was committed within one is part of it.
        if let date = Date(typed: text) { return .time(date.addingTimeInterval(0.000_999)) }
        if let token = ChangeToken(text) { return .token(token) }
        throw StoreError(
            .invalidArguments,
            "a POINT is an offset, a time such as 2026-11-23T14:30:00Z, mark:NAME or a change "
                + "token, not \(text)")
    }
}
