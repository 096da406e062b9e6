/// A constant of a predicate, prepared for being compared with many values.
enum ConstantValue: Sendable {
    case text([Unicode.Scalar], TextFolding)
    case list([ConstantValue])
    case other(PredicateValue)

    init(_ value: PredicateValue, _ folding: TextFolding) {
        self =
            if case .list(let values) = value {
                .list(values.map { ConstantValue(element: $0, folding) })
            } else {
                ConstantValue(element: value, folding)
            }
    }

    /// A list in a list, which no field has, stays as it is and equals nothing.
    private init(element value: PredicateValue, _ folding: TextFolding) {
        self =
            if case .string(let text) = value {
                .text(Array(FoldedScalars(text, folding)), folding)
            } else {
                .other(value)
            }
    }

    /// How `value` is to the constant; nil of values that cannot be compared.
    func order(of value: PredicateValue) -> ValueOrder? {
        switch (value, self) {
        case (.string(let text), .text(let scalars, let folding)):
            Self.order(text, scalars, folding)
        case (.list(let values), .list(let constants)): Self.order(values, constants)
        case (_, .other(let constant)): Self.order(value, constant)
        default: nil
        }
    }

    func equals(_ value: PredicateValue) -> Truth {
        order(of: value).map(Relation.equal.holds) ?? .unknown
    }

    private static func order(_ value: PredicateValue, _ constant: PredicateValue) -> ValueOrder? {
        switch (value, constant) {
        case (.int64(let left), .int64(let right)): ValueOrder(left, right)
        case (.int64(let left), .double(let right)): ValueOrder(left, right)
        case (.double(let left), .int64(let right)): ValueOrder(right, left)?.mirrored
        case (.double(let left), .double(let right)), (.date(let left), .date(let right)):
            ValueOrder(numbers: left, right)
        case (.bytes(let left), .bytes(let right)): left == right ? .equal : .different
        case (.location(let left), .location(let right)): order(left, right)
        case (.reference(let left), .reference(let right)):
            left.matches(right) ? .equal : .different
        default: nil
        }
    }

    private static func order(_ left: GeographicPoint, _ right: GeographicPoint) -> ValueOrder? {
        guard let latitudes = ValueOrder(numbers: left.latitude, right.latitude),
            let longitudes = ValueOrder(numbers: left.longitude, right.longitude)
        else { return nil }
        return latitudes == .equal && longitudes == .equal ? .equal : .different
    }

    /// By the values of the scalars, which is the order of the UTF-8 too.
    private static func order(
        _ text: String, _ scalars: [Unicode.Scalar], _ folding: TextFolding
    ) -> ValueOrder {
        orderOfASCII(text, scalars, folding) ?? order(FoldedScalars(text, folding), scalars)
    }

    /// The same, byte by byte; nil where the text has more than ASCII before that is decided.
    private static func orderOfASCII(
        _ text: String, _ scalars: [Unicode.Scalar], _ folding: TextFolding
    ) -> ValueOrder? {
        let bytes = text.utf8Span.span
        let isCaseFolded = folding.contains(.case)
        for place in bytes.indices {
            let byte = bytes[place]
            if byte >= 0x80 { return nil }
            if place == scalars.count { return .greater }
            var left = Unicode.Scalar(byte)
            if isCaseFolded { left = left.asciiLowercase }
            let right = scalars[place]
            if left != right { return left < right ? .less : .greater }
        }
        return bytes.count == scalars.count ? .equal : .less
    }

    private static func order(_ text: FoldedScalars, _ scalars: [Unicode.Scalar]) -> ValueOrder {
        var text = text
        for right in scalars {
            guard let left = text.next() else { return .less }
            if left != right { return left < right ? .less : .greater }
        }
        return text.next() == nil ? .equal : .greater
    }

    /// Lists are equal or not: element by element, in order.
    private static func order(
        _ values: [PredicateValue], _ constants: [ConstantValue]
    ) -> ValueOrder? {
        guard values.count == constants.count else { return .different }
        switch zip(values, constants).all({ value, constant in constant.equals(value) }) {
        case .yes: return .equal
        case .no: return .different
        case .unknown: return nil
        }
    }
}
