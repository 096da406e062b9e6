/// Which zones an archive has, by their names and owners.
package struct ZoneSelection: Hashable, Sendable {
    /// One zone, or all of a database.
    package struct Part: Hashable, Sendable {
        /// Nil: the public database.
        package var owner: UserID?
        /// Nil: all zones of the database, also those that are made later.
        package var zoneName: String?

        package init(owner: UserID?, zoneName: String?) {
            self.owner = owner
            self.zoneName = zoneName
        }
    }

    package var parts: Set<Part>

    package init(_ parts: some Sequence<Part>) { self.parts = Set(parts) }

    /// Whether it has all of that part.
    package func contains(_ part: Part) -> Bool {
        parts.contains(part) || parts.contains(Part(owner: part.owner, zoneName: nil))
    }

    /// Whether it has a zone of that name, if there is one.
    package func contains(_ zoneName: String, of owner: UserID?) -> Bool {
        contains(Part(owner: owner, zoneName: zoneName))
    }

    /// Whether it has all zones of a database. What others share with a user are zones of several.
    package func containsAll(of scope: DatabaseScope) -> Bool {
        switch scope {
        case .public: contains(Part(owner: nil, zoneName: nil))
        case .private(let owner): contains(Part(owner: owner, zoneName: nil))
        case .shared: false
        }
    }
}
