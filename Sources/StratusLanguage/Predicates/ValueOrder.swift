/// How one value is to another of its kind.
enum ValueOrder: Sendable {
    case less, equal, greater
    /// Not equal, and of a kind that has no order.
    case different

    init<Value: Comparable>(_ left: Value, _ right: Value) {
        self = left < right ? .less : left == right ? .equal : .greater
    }
}

extension Relation {
    func holds(_ order: ValueOrder) -> Truth {
        switch (self, order) {
        case (.equal, _): Truth(order == .equal)
        case (.notEqual, _): Truth(order != .equal)
        case (.lessOrEqual, .equal), (.greaterOrEqual, .equal): .yes
        case (_, .different): .unknown
        case (.less, _), (.lessOrEqual, _): Truth(order == .less)
        case (.greater, _), (.greaterOrEqual, _): Truth(order == .greater)
        }
    }
}

extension ValueOrder {
    /// Nil where one is not a number: it is compared like a missing value, so that of `a < b` and
    /// `NOT a >= b` never one holds alone.
    init?(numbers left: Double, _ right: Double) {
        guard !left.isNaN && !right.isNaN else { return nil }
        self.init(left, right)
    }

    /// Exact: neither number is rounded to the other's kind.
    init?(_ left: Int64, _ right: Double) {
        guard !right.isNaN else { return nil }
        let whole = right.rounded(.down)
        if let integer = Int64(exactly: whole) {
            // Where the integers are equal, a fraction decides.
            self = left == integer ? ValueOrder(whole, right) : ValueOrder(left, integer)
        } else {
            self = right > 0 ? .less : .greater
        }
    }

    var mirrored: ValueOrder {
        switch self {
        case .less: .greater
        case .greater: .less
        case .equal, .different: self
        }
    }
}
