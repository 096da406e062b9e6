/// What a test of a record says: three values, as in SQL.
///
/// Unknown is what is asked of a missing field, of a value of another kind, and of a number that is
/// none. So neither a test nor its negation holds there.
enum Truth: Int8, Comparable, Sendable {
    case no = -1
    case unknown = 0
    case yes = 1

    init(_ holds: Bool) { self = holds ? .yes : .no }

    static func < (left: Truth, right: Truth) -> Bool { left.rawValue < right.rawValue }

    var negated: Truth {
        switch self {
        case .no: .yes
        case .unknown: .unknown
        case .yes: .no
        }
    }
}

extension Sequence {
    /// The least truth of all elements: yes where there are none.
    func all(_ truth: (Element) -> Truth) -> Truth {
        var least = Truth.yes
        for element in self {
            least = Swift.min(least, truth(element))
            if least == .no { break }
        }
        return least
    }

    /// The greatest truth of all elements: no where there are none.
    func any(_ truth: (Element) -> Truth) -> Truth {
        var greatest = Truth.no
        for element in self {
            greatest = Swift.max(greatest, truth(element))
            if greatest == .yes { break }
        }
        return greatest
    }
}
