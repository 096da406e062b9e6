internal import StratusBytes

extension RecordPredicate: CustomStringConvertible {
    /// The predicate as text that parses to the same tree.
    ///
    /// Takes time in proportion to the tree. Only trees of at most ``depthLimit`` levels are printed
    /// whole; of deeper ones the rest is `…`, which no parser takes.
    package var description: String {
        var printer = PredicatePrinter()
        printer.print(self, level: 1)
        return printer.text
    }
}

private struct PredicatePrinter {
    private(set) var text = ""

    mutating func print(_ predicate: RecordPredicate, level: Int) {
        guard level <= RecordPredicate.depthLimit else {
            text += "…"
            return
        }
        switch predicate.form {
        case .constant(let value): text += value ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .and(let parts): print(parts, " AND ", level: level)
        case .or(let parts): print(parts, " OR ", level: level)
        case .not(let part):
            text += "NOT "
            let isCompound = part.isOr || part.isAnd
            print(part, inParentheses: isCompound, level: level + 1)
        case .isNil(let field): text += "\(Self.name(field)) = NULL"
        case .comparison(let comparison): print(comparison)
        case .search(let search): print(search)
        case .distance(let distance):
            let center = Self.literal(.location(distance.center))
            text += "distanceToLocation:fromLocation:(\(Self.name(distance.field)), \(center)) "
            text += "\(distance.relation.rawValue) \(Self.literal(.double(distance.kilometres)))"
        }
    }

    private mutating func print(_ parts: [RecordPredicate], _ separator: String, level: Int) {
        for (number, part) in parts.enumerated() {
            if number > 0 { text += separator }
            // AND binds more than OR.
            print(part, inParentheses: part.isOr, level: level + 1)
        }
    }

    private mutating func print(_ part: RecordPredicate, inParentheses: Bool, level: Int) {
        if inParentheses { text += "(" }
        print(part, level: level)
        if inParentheses { text += ")" }
    }

    private mutating func print(_ comparison: FieldComparison) {
        if let quantifier = comparison.quantifier { text += "\(quantifier.rawValue) " }
        let letters = TextOptions.letters.filter { comparison.options.contains($0.option) }
        let options = letters.isEmpty ? "" : "[\(letters.map(\.letter).joined())]"
        let (sign, right) =
            switch comparison.test {
            case .relation(let relation, let value): (relation.rawValue, Self.literal(value))
            case .between(let low, let high): ("BETWEEN", Self.literal(.list([low, high])))
            case .isIn(let values): ("IN", Self.literal(.list(values)))
            case .text(let relation, let text): (relation.rawValue, Self.quoted(text))
            case .contains(let value): ("CONTAINS", Self.literal(value))
            }
        text += "\(Self.name(comparison.field)) \(sign)\(options) \(right)"
    }

    private mutating func print(_ search: TokenSearch) {
        let right = Self.quoted(search.text)
        let printed =
            switch (search.field, search.needsAll) {
            case (nil, false): "SELF CONTAINS \(right)"
            case (nil, true): "allTokens TOKENMATCHES[cdl] \(right)"
            case (let field?, false): "ANY \(Self.name(field)) TOKENMATCHES[cdl] \(right)"
            case (let field?, true): "\(Self.name(field)) TOKENMATCHES[cdl] \(right)"
            }
        text += printed
    }

    // MARK: Names and values

    /// A field's name, marked where it would have another meaning.
    private static func name(_ field: String) -> String {
        let isKeyword = PredicateToken.Keyword(name: field) != nil || field == "allTokens"
        return isKeyword ? "#\(field)" : field
    }

    private static func literal(_ value: PredicateValue) -> String {
        switch value {
        case .string(let text): quoted(text)
        case .int64(let number): "\(number)"
        case .double(let number): number.isFinite ? "\(number)" : "CAST(\(part(number)), 'double')"
        case .date(let seconds): "CAST(\(part(seconds)), 'NSDate')"
        case .bytes(let bytes): "CAST('\(Hex.encode(bytes))', 'NSData')"
        case .location(let point):
            "CAST({\(part(point.latitude)), \(part(point.longitude))}, 'CLLocation')"
        case .reference(let target): "CAST(\(parts(target)), 'CKReference')"
        case .asset: "CAST({}, 'CKAsset')"
        // No parser takes a list in a list.
        case .list(let values):
            "{\(values.map { $0.type == nil ? "…" : literal($0) }.joined(separator: ", "))}"
        }
    }

    private static func part(_ number: Double) -> String {
        number.isNaN ? "'nan'" : number.isFinite ? "\(number)" : "'\(number)'"
    }

    private static func parts(_ target: ReferenceTarget) -> String {
        let names = [target.recordName, target.zone ?? "", target.owner ?? ""]
        let count = target.owner != nil ? 3 : target.zone != nil ? 2 : 1
        return "{\(names.prefix(count).map(quoted).joined(separator: ", "))}"
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "'"
        for scalar in text.unicodeScalars {
            switch scalar {
            case "'", "\\": quoted.unicodeScalars.append(contentsOf: ["\\", scalar])
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7f:
                quoted += "\\u" + Hex.encode(UInt16(scalar.value))
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "'"
    }
}

extension RecordPredicate {
    fileprivate var isOr: Bool { if case .or = form { true } else { false } }
    fileprivate var isAnd: Bool { if case .and = form { true } else { false } }
}
