/// What fills the places that predicate text leaves open.
package struct PredicateArguments: Sendable {
    /// For `%@`, `%K`, `%d` and the like, in order; nil is `NULL`.
    package var values: [PredicateValue?]
    /// For `$name`.
    package var variables: [String: PredicateValue]
    /// The moment that `now()` is, in seconds since 2001-01-01 00:00 UTC; nil where it may not be
    /// used.
    package var now: Double?

    package init(
        _ values: [PredicateValue?] = [], variables: [String: PredicateValue] = [:],
        now: Double? = nil
    ) {
        self.values = values
        self.variables = variables
        self.now = now
    }
}
