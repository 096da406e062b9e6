/// The name of a person, as far as it is known.
public struct PersonName: Hashable, Sendable {
    /// Nil: not known.
    public var givenName: String?
    /// Nil: not known.
    public var familyName: String?

    /// A name of these parts.
    public init(givenName: String? = nil, familyName: String? = nil) {
        self.givenName = givenName
        self.familyName = familyName
    }
}
