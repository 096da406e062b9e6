/// What a field of the model may hold: enough to tell every rule apart, and no more.
package enum ModelValue: Hashable, Sendable {
    case number(Int64)
    case real(Double)
    case text(String)
    case bytes([UInt8])
    /// Milliseconds since 1970.
    case date(Int64)
    case reference(ModelReference)
    case list([ModelValue])

    /// The references in it, one or the elements of a list.
    var references: [ModelReference] {
        switch self {
        case .reference(let reference): [reference]
        case .list(let elements): elements.flatMap(\.references)
        default: []
        }
    }
}

/// A field that names another record.
package struct ModelReference: Hashable, Sendable {
    package enum Action: Int, Sendable, CaseIterable { case none, deleteSelf, validate }

    package var target: ModelID
    package var action: Action

    package init(_ target: ModelID, _ action: Action) {
        self.target = target
        self.action = action
    }
}

/// The name of a record within a database.
package struct ModelID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var zone: String
    package var name: String

    package init(zone: String, name: String) {
        self.zone = zone
        self.name = name
    }

    package static func < (left: Self, right: Self) -> Bool {
        (left.zone, left.name) < (right.zone, right.name)
    }

    package var description: String { "\(zone)/\(name)" }
}

/// Which database of a container.
package enum ModelDatabaseID: Hashable, Sendable {
    case everybodys
    case own(user: Int)
}
