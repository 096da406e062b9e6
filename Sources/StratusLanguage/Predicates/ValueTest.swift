/// A test of a field's value, with its constants prepared.
enum ValueTest: Sendable {
    case relation(Relation, ConstantValue)
    case between(ConstantValue, ConstantValue)
    case isIn([ConstantValue])
    case prefix([Unicode.Scalar], TextFolding)
    case suffix(SubstringPattern, TextFolding)
    case like(WildcardPattern, TextFolding)
    /// A member of a list, or a part of a string.
    case contains(ConstantValue, part: SubstringPattern?, TextFolding)

    /// Nil of a pattern that is too long.
    init?(_ test: FieldComparison.Test, _ options: TextOptions, _ equality: TextEquality) {
        // Equality and order are without case unless the store or `[n]` says otherwise; what looks
        // into a text keeps case unless `[c]` says otherwise.
        let folding = options.folding(also: [])
        let equalFolding = options.folding(also: equality == .folded ? .case : [])
        func constant(_ value: PredicateValue) -> ConstantValue {
            ConstantValue(value, equalFolding)
        }
        func scalars(_ text: String) -> [Unicode.Scalar] { Array(FoldedScalars(text, folding)) }
        switch test {
        case .relation(let relation, let value): self = .relation(relation, constant(value))
        case .between(let low, let high): self = .between(constant(low), constant(high))
        case .isIn(let values): self = .isIn(values.map(constant))
        case .text(.beginsWith, let text): self = .prefix(scalars(text), folding)
        case .text(.endsWith, let text): self = .suffix(SubstringPattern(scalars(text)), folding)
        case .text(.like, let text):
            guard let pattern = WildcardPattern(text, folding) else { return nil }
            self = .like(pattern, folding)
        case .contains(let value):
            let part: SubstringPattern? =
                if case .string(let text) = value { SubstringPattern(scalars(text)) } else { nil }
            self = .contains(constant(value), part: part, folding)
        }
    }

    func holds(_ value: PredicateValue) -> Truth {
        switch self {
        case .relation(let relation, let constant):
            guard let order = constant.order(of: value) else { return .unknown }
            return relation.holds(order)
        case .between(let low, let high):
            let isAbove = low.order(of: value).map(Relation.greaterOrEqual.holds) ?? .unknown
            let isBelow = high.order(of: value).map(Relation.lessOrEqual.holds) ?? .unknown
            return min(isAbove, isBelow)
        case .isIn(let constants): return constants.any { $0.equals(value) }
        case .contains(let constant, let part, let folding):
            switch (value, part) {
            case (.list(let elements), _): return elements.any(constant.equals)
            case (.string(let text), let part?):
                return Truth(part.isContained(in: FoldedScalars(text, folding)))
            default: return .unknown
            }
        case .prefix, .suffix, .like:
            guard case .string(let text) = value else { return .unknown }
            return Truth(holds(text))
        }
    }

    private func holds(_ text: String) -> Bool {
        switch self {
        case .prefix(let scalars, let folding):
            FoldedScalars(text, folding).starts(with: scalars)
        case .suffix(let pattern, let folding): pattern.isSuffix(of: FoldedScalars(text, folding))
        case .like(let pattern, let folding): pattern.matches(FoldedScalars(text, folding))
        default: false
        }
    }
}

extension TextOptions {
    /// What does not count where strings are compared.
    fileprivate func folding(also always: TextFolding) -> TextFolding {
        if contains(.normalized) { return [] }
        var folding = always
        if contains(.caseInsensitive) { folding.insert(.case) }
        if contains(.diacriticInsensitive) { folding.insert(.diacritics) }
        return folding
    }
}
