internal import StratusBytes
internal import StratusEngine
internal import StratusLanguage

extension RecordPredicate {
    /// What a subscription with the predicate waits for: each record that satisfies it is found by
    /// one of these anchors at least, by its own values. None where no record ever does.
    ///
    /// - Parameters:
    ///   - type: that of the records.
    ///   - zone: the name of their zone; nil or empty: all.
    ///   - secret: the store's own.
    ///   - schema: that of the state in which the subscription is saved. Where it does not tell
    ///     whether a field has lists, `CONTAINS` of a string does not help to find a record.
    func anchors(
        ofType type: String, zone: String?, secret: UInt64, _ schema: Schema
    ) -> [SubscriptionAnchor] {
        let maker = AnchorMaker(self, type, zone: zone ?? "", secret: secret, schema)
        guard depth <= Self.depthLimit, let anchors = maker.anchors(of: self),
            anchors.count <= SubscriptionAnchor.limit
        else { return [maker.always] }
        return anchors
    }
}

/// Makes the anchors of a predicate. Everywhere nil stands for a condition that does not tell by
/// which values a record satisfies it, and an empty list for one that no record satisfies.
private struct AnchorMaker {
    private let type: String
    private let typeNumber: UInt32?
    private let isInZone: Bool
    private let zone: UInt64
    private let secret: UInt64
    private let schema: Schema
    /// Of the predicate as text: where it is the order of anchors, those of equal predicates stand
    /// together, and the predicate is evaluated once for all.
    private let predicate: UInt64

    init(
        _ predicate: RecordPredicate, _ type: String, zone: String, secret: UInt64,
        _ schema: Schema
    ) {
        self.type = type
        typeNumber = schema.number(type)
        isInZone = !zone.isEmpty
        self.zone = isInZone ? AnchorZone.hash(zone) : 0
        self.secret = secret
        self.schema = schema
        let text = predicate.description
        let bytes = text.utf8.span
        self.predicate = Checksum.xxh3(bytes, seed: secret)
    }

    var always: SubscriptionAnchor { anchor("", .always, .nothing) }

    private func anchor(
        _ field: String, _ kind: SubscriptionAnchor.Kind, parameter: UInt8 = 0,
        _ value: AnchorValue, order: UInt64? = nil
    ) -> SubscriptionAnchor {
        let shape = SubscriptionAnchor.Shape(
            field: field, kind: kind, parameter: parameter, isInZone: isInZone)
        let hash = shape.hash(type: type, seed: secret)
        return SubscriptionAnchor(
            shape: shape, slot: value.slot(hash, zone: zone, secret: secret),
            order: order ?? predicate)
    }

    func anchors(of predicate: RecordPredicate) -> [SubscriptionAnchor]? {
        switch predicate.form {
        case .constant(let holds): holds ? nil : []
        case .and(let parts): anchors(ofAll: parts)
        case .or(let parts): anchors(ofAny: parts)
        case .not, .isNil: nil
        case .comparison(let comparison): anchors(of: comparison)
        case .search(let search): anchors(of: search)
        case .distance(let distance): anchors(of: distance)
        }
    }

    /// All parts hold: any of them will do, and the best is taken.
    private func anchors(ofAll parts: [RecordPredicate]) -> [SubscriptionAnchor]? {
        var best: [SubscriptionAnchor]?
        for found in parts.map({ anchors(of: $0) }) + intervals(in: parts) {
            guard let found, found.count <= SubscriptionAnchor.limit else { continue }
            if found.isEmpty { return found }
            if let known = best, rank(known) <= rank(found) { continue }
            best = found
        }
        return best
    }

    /// One of the parts holds.
    private func anchors(ofAny parts: [RecordPredicate]) -> [SubscriptionAnchor]? {
        var all: [SubscriptionAnchor] = []
        var seen: Set<SubscriptionAnchor> = []
        for part in parts {
            guard let found = anchors(of: part) else { return nil }
            for anchor in found where seen.insert(anchor).inserted { all.append(anchor) }
            guard all.count <= SubscriptionAnchor.limit else { return nil }
        }
        return all
    }

    /// Smaller is better: fewer records are looked at in vain.
    private func rank(_ anchors: [SubscriptionAnchor]) -> Int {
        let worst = anchors.reduce(0) { max($0, rank($1.shape)) }
        return worst << 16 | min(anchors.count, 0xffff)
    }

    private func rank(_ shape: SubscriptionAnchor.Shape) -> Int {
        switch shape.kind {
        case .equal: 1
        // Every string has the empty prefix, and large blocks have nearly every number.
        case .prefix: shape.parameter == 0 ? 8 : 2
        case .block: shape.parameter > 60 ? 6 : 3
        case .word: 4
        case .cell: 5
        case .above, .below: 7
        case .always: 9
        }
    }
}

// Comparisons.
extension AnchorMaker {
    private func anchors(of comparison: FieldComparison) -> [SubscriptionAnchor]? {
        // What holds for all elements holds for an empty list. System fields are in no field table.
        guard comparison.quantifier != .all, SystemField(rawValue: comparison.field) == nil else {
            return nil
        }
        switch comparison.test {
        case .relation(.equal, let value): return anchors(comparison, equalTo: value)
        case .relation(.notEqual, _): return nil
        case .relation(let relation, let value): return anchors(comparison, relation, value)
        case .between(let low, let high):
            guard let low = order(low), let high = order(high), low.kind == high.kind else {
                return nil
            }
            return blocks(comparison.field, low, high)
        case .isIn(let values):
            var all: [SubscriptionAnchor] = []
            var seen: Set<SubscriptionAnchor> = []
            for value in values {
                guard let found = anchors(comparison, equalTo: value) else { return nil }
                for anchor in found where seen.insert(anchor).inserted { all.append(anchor) }
            }
            return all
        case .contains(let value):
            // Of an element, and of a string, it asks for a part.
            guard comparison.quantifier == nil else { return nil }
            if case .string = value, !isList(comparison.field) { return nil }
            return anchors(comparison, equalTo: value)
        case .text(.beginsWith, let text):
            guard comparison.seesMarks else { return nil }
            let folded = FoldedBytes(text)
            let count = folded.prefix(16)
            let value = AnchorValue(
                folded: folded.bytes.span, in: 0..<count, seed: secret)
            return [anchor(comparison.field, .prefix, parameter: UInt8(count), value)]
        case .text: return nil
        }
    }

    /// Whether the field is known to hold lists, which it always will.
    private func isList(_ field: String) -> Bool {
        guard let typeNumber, let number = schema.number(field) else { return false }
        return schema.kind(of: Schema.Column(type: typeNumber, field: number))?.isList == true
    }

    private func anchors(
        _ comparison: FieldComparison, equalTo constant: PredicateValue
    ) -> [SubscriptionAnchor]? {
        let value: AnchorValue?
        switch constant {
        case .string(let text):
            // Where case counts, what is equal is equal without case, too.
            guard comparison.seesMarks else { return nil }
            let folded = FoldedBytes(text)
            value = AnchorValue(
                folded: folded.bytes.span, in: folded.bytes.indices, seed: secret)
        case .int64(let number): value = AnchorValue(number)
        case .double(let number): value = AnchorValue(.number, number)
        case .date(let seconds): value = AnchorValue(.date, seconds)
        case .bytes(let bytes):
            value = AnchorValue(.bytes, Checksum.xxh3(bytes.span, seed: secret))
        case .location(let point): value = AnchorValue(point)
        case .reference(let target):
            value = AnchorValue(.reference, hashOf: target.recordName, seed: secret)
        case .asset: value = nil
        case .list(let elements):
            // A list that equals this one has its first element.
            guard let first = elements.first else { return nil }
            if case .list = first { return nil }
            return anchors(comparison, equalTo: first)
        }
        guard let value else { return [] }
        return [anchor(comparison.field, .equal, value)]
    }
}

// Intervals of numbers and dates.
extension AnchorMaker {
    /// The place of a constant in the order of numbers or of dates; nil of other values.
    private func order(_ constant: PredicateValue) -> AnchorOrder? {
        switch constant {
        case .int64(let number): AnchorOrder(number)
        case .double(let number): AnchorOrder(.number, number)
        case .date(let seconds): AnchorOrder(.date, seconds)
        default: nil
        }
    }

    private func anchors(
        _ comparison: FieldComparison, _ relation: Relation, _ constant: PredicateValue
    ) -> [SubscriptionAnchor]? {
        guard let order = order(constant) else { return nil }
        let isAbove = relation == .greater || relation == .greaterOrEqual
        return [
            anchor(
                comparison.field, isAbove ? .above : .below, AnchorValue(order.kind),
                order: order.bits)
        ]
    }

    private func blocks(
        _ field: String, _ low: AnchorOrder, _ high: AnchorOrder
    ) -> [SubscriptionAnchor] {
        guard low.bits <= high.bits else { return [] }
        return AnchorOrder.blocks(low.bits...high.bits).map { block in
            let place = AnchorOrder(low.kind, place: block.place)
            return anchor(
                field, .block, parameter: block.level, place.block(block.level))
        }
    }

    /// What bounds there are on the values of a field, of one kind.
    private struct Interval {
        var field: String
        var kind: AnchorValue.Kind
        var low: AnchorOrder?
        var high: AnchorOrder?
    }

    /// Of fields that have both bounds, in different parts: the anchors of what lies between.
    private func intervals(in parts: [RecordPredicate]) -> [[SubscriptionAnchor]?] {
        var intervals: [Interval] = []
        for part in parts {
            // Of a list each bound may hold for another element.
            guard case .comparison(let comparison) = part.form, comparison.quantifier == nil,
                case .relation(let relation, let constant) = comparison.test,
                relation != .equal, relation != .notEqual, let order = order(constant),
                SystemField(rawValue: comparison.field) == nil
            else { continue }
            let known = intervals.firstIndex {
                $0.field == comparison.field && $0.kind == order.kind
            }
            let place = known ?? intervals.count
            if known == nil {
                intervals.append(Interval(field: comparison.field, kind: order.kind))
            }
            if relation == .greater || relation == .greaterOrEqual {
                let low = intervals[place].low ?? order
                intervals[place].low = low.bits > order.bits ? low : order
            } else {
                let high = intervals[place].high ?? order
                intervals[place].high = high.bits < order.bits ? high : order
            }
        }
        var found: [[SubscriptionAnchor]?] = []
        for interval in intervals {
            guard let low = interval.low, let high = interval.high else { continue }
            found.append(blocks(interval.field, low, high))
        }
        return found
    }
}

// Words and places.
extension AnchorMaker {
    private func anchors(of search: TokenSearch) -> [SubscriptionAnchor]? {
        let field = search.field ?? ""
        guard SystemField(rawValue: field) == nil else { return nil }
        var words = Set(SearchWords(search.text)).sorted {
            $0.text.utf8.lexicographicallyPrecedes($1.text.utf8)
        }
        // Of words that are all needed the longest is likely the rarest.
        if search.needsAll,
            let longest = words.max(by: { $0.text.utf8.count < $1.text.utf8.count })
        {
            words = [longest]
        }
        return words.map { anchor(field, .word, AnchorValue($0, seed: secret)) }
    }

    private func anchors(of distance: DistanceComparison) -> [SubscriptionAnchor]? {
        guard SystemField(rawValue: distance.field) == nil else { return nil }
        switch distance.relation {
        case .less, .lessOrEqual, .equal: break
        case .notEqual, .greater, .greaterOrEqual: return nil
        }
        // From a place that is not on the earth nothing has a distance.
        guard GreatCircle(from: distance.center) != nil, distance.kilometres >= 0 else { return [] }
        guard
            let (grid, cells) = AnchorGrid.cells(
                around: distance.center, kilometres: distance.kilometres)
        else { return nil }
        return cells.map { anchor(distance.field, .cell, parameter: grid.level, $0) }
    }
}

extension FieldComparison {
    /// Whether diacritics count where strings are compared.
    fileprivate var seesMarks: Bool {
        options.contains(.normalized) || !options.contains(.diacriticInsensitive)
    }
}
