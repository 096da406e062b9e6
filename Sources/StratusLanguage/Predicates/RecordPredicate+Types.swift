extension RecordPredicate {
    /// The comparisons whose constants can never fit their fields, in the order of the text.
    ///
    /// `types` tells the kinds of fields; fields that it does not know are passed over.
    package func typeErrors(types: (String) -> FieldType?) -> [UnsupportedPredicate] {
        do throws(UnsupportedPredicate) { try checkDepth() } catch { return [error] }
        var errors: [UnsupportedPredicate] = []
        addTypeErrors(types, to: &errors)
        return errors
    }

    private func addTypeErrors(
        _ types: (String) -> FieldType?, to errors: inout [UnsupportedPredicate]
    ) {
        switch form {
        case .and(let parts), .or(let parts):
            for part in parts { part.addTypeErrors(types, to: &errors) }
        case .not(let part): part.addTypeErrors(types, to: &errors)
        case .constant, .isNil: break
        case .distance(let distance):
            add(distance.field, types, [.location], to: &errors) { !$0.isList }
        case .search(let search):
            guard let field = search.field else { return }
            add(field, types, [.string], to: &errors) { _ in true }
        case .comparison(let comparison):
            let constants = comparison.test.constants.compactMap(\.type)
            add(comparison.field, types, constants, to: &errors) { type in
                comparison.fits(type)
            }
        }
    }

    private func add(
        _ field: String, _ types: (String) -> FieldType?, _ constants: [ValueType],
        to errors: inout [UnsupportedPredicate], where fits: (FieldType) -> Bool
    ) {
        guard let type = types(field) else { return }
        let name = type.element.rawValue + (type.isList ? "_LIST" : "")
        if let constant = constants.first(where: { !$0.isComparable(with: type.element) }) {
            errors.append(
                UnsupportedPredicate(
                    "Field '\(field)' has a value type of \(name) and cannot be queried using "
                        + "filter value type \(constant.rawValue)", at: place))
        } else if !fits(type) {
            errors.append(
                UnsupportedPredicate(
                    "Field '\(field)' has a value type of \(name), which this comparison does not "
                        + "take", at: place))
        }
    }
}

extension FieldComparison {
    /// Whether the test can be asked of a field, given that its constants fit.
    fileprivate func fits(_ type: FieldType) -> Bool {
        if quantifier != nil { return type.isList }
        switch test {
        case .contains: return type.isList || type.element == .string
        case .relation(_, .list): return type.isList
        default: return !type.isList
        }
    }
}
