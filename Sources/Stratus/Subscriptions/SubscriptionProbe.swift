internal import StratusBytes
internal import StratusEngine
internal import StratusJournal
internal import StratusLanguage

/// The zone of a record that is changed.
final class AnchorZone {
    let number: UInt32
    /// As the owner names it, who subscribes to it.
    let id: RecordZone.ID
    /// Of the name, for anchors of the zone.
    let hash: UInt64

    init(_ place: ZonePlace, name: String) {
        number = place.number
        id = RecordZone.ID(zoneName: name)
        hash = Self.hash(name)
    }

    static func hash(_ name: String) -> UInt64 { Checksum.xxh3(name) }
}

/// What the query subscriptions of a database ask of the records of a type.
final class AnchoredType {
    /// A shape of anchors, but for its field.
    struct Form {
        var kind: SubscriptionAnchor.Kind
        var parameter: UInt8
        var isInZone: Bool
        var hash: UInt64
    }

    let number: UInt32
    let name: String
    /// Those of each field together.
    let forms: [Form]
    /// Which forms are of which field.
    let fields: [(number: UInt32, forms: Range<Int>)]
    /// Those of every record.
    let always: Range<Int>
    /// Those of the words of all strings.
    let words: Range<Int>
    /// The last entry that began or ended one of the subscriptions; nil: not known.
    let changed: JournalOffset?

    init(
        _ number: UInt32, _ name: String, _ shapes: [SubscriptionAnchor.Shape: UInt64],
        _ schema: Schema, changed: JournalOffset?
    ) {
        self.number = number
        self.name = name
        self.changed = changed
        var fields: [UInt32: [Form]] = [:]
        var always: [Form] = []
        var words: [Form] = []
        for (shape, hash) in shapes {
            let form = Form(
                kind: shape.kind, parameter: shape.parameter, isInZone: shape.isInZone,
                hash: hash)
            if shape.kind == .always {
                always.append(form)
            } else if shape.field.isEmpty {
                words.append(form)
            } else if let field = schema.number(shape.field) {
                fields[field, default: []].append(form)
            }
        }
        var all: [Form] = []
        func add(_ forms: [Form]) -> Range<Int> {
            all += forms
            return all.count - forms.count..<all.count
        }
        self.fields = fields.map { (number: $0.key, forms: add($0.value)) }
        self.always = add(always)
        self.words = add(words)
        forms = all
    }

    var isEmpty: Bool { forms.isEmpty }
}

/// Finds by the values of records where subscriptions may wait for them.
struct SubscriptionProbe {
    /// A place where something may wait.
    struct Place: Hashable {
        var shape: UInt64
        var kind: SubscriptionAnchor.Kind
        /// Nil: any place of the shape.
        var slot: UInt64?

        func hash(into hasher: inout Hasher) {
            // A slot is a hash of the shape, too.
            hasher.combine(slot ?? shape)
        }

        /// Whether only a part of what waits there is asked for.
        var hasBound: Bool {
            switch kind {
            case .above, .below: true
            case .always, .equal, .prefix, .block, .word, .cell: false
            }
        }

        var hash: Hash128 { Hash128(high: shape, low: slot ?? shape) }
    }

    /// A place where something may wait, and the place of the record's own value in order, where the
    /// kind is one of bounds.
    struct Hit {
        var place: Place
        var bound: UInt64
    }

    /// Of the record that was looked at last, each place once.
    private(set) var hits: [Hit] = []

    private let filter: SubscriptionFilter
    private let secret: UInt64
    private var folded = FoldedBytes()

    init(_ filter: SubscriptionFilter, secret: UInt64) {
        self.filter = filter
        self.secret = secret
    }

    /// Looks up the values of a record and, of an update, those that it had before. Returns whether
    /// anything may wait for them.
    mutating func find(
        _ fields: some EncodedFields, over former: StoredFields?, _ type: AnchoredType
    ) throws(FormatError) -> Bool {
        let zone = fields.zone.hash
        if !hits.isEmpty { hits.removeAll(keepingCapacity: true) }
        for place in type.always { look(for: .nothing, type.forms[place], zone) }
        for place in type.fields.indices {
            let (field, forms) = type.fields[place]
            let value = fields.encodedValue(of: field)
            if let value { try look(at: value, type, forms, zone) }
            if let former, value?.isKept != true, let old = former.encodedValue(of: field) {
                try look(at: old, type, forms, zone)
            }
        }
        if !type.words.isEmpty {
            for value in fields.encodedValues + (former?.encodedValues ?? [])
            where value.kind.element == .string && !value.kind.isEncrypted {
                try look(at: value, type, type.words, zone)
            }
        }
        if hits.count > 1 { removeRepeated() }
        return !hits.isEmpty
    }

    /// Of several values that were found at a place the one to which more is open counts.
    private mutating func removeRepeated() {
        hits.sort {
            ($0.place.shape, $0.place.slot ?? 0, $0.bound)
                < ($1.place.shape, $1.place.slot ?? 0, $1.bound)
        }
        var count = 1
        for place in hits.indices.dropFirst() {
            if hits[place].place != hits[count - 1].place {
                hits[count] = hits[place]
                count += 1
            } else if hits[place].place.kind == .above {
                hits[count - 1] = hits[place]
            }
        }
        hits.removeLast(hits.count - count)
    }

    private mutating func look(
        for value: AnchorValue, _ form: AnchoredType.Form, _ zone: UInt64, bound: UInt64 = 0
    ) {
        let slot = value.slot(form.hash, zone: form.isInZone ? zone : 0, secret: secret)
        guard filter.mayContain(slot) else { return }
        hits.append(
            Hit(place: Place(shape: form.hash, kind: form.kind, slot: slot), bound: bound))
    }

    /// Looks up a value or, of a list, each of its elements.
    private mutating func look(
        at value: EncodedValue, _ type: AnchoredType, _ forms: Range<Int>, _ zone: UInt64
    ) throws(FormatError) {
        // An empty list may say nothing of its elements.
        guard let kind = value.kind.element else { return }
        let bytes = value.bytes
        // Most values are no lists.
        guard value.kind.isList else {
            return try look(at: bytes.span, value.range, kind, type, forms, zone)
        }
        try ValueFormat.forEachElement(bytes.span, in: value.range, value.kind) {
            range throws(FormatError) in
            try look(at: bytes.span, range, kind, type, forms, zone)
        }
    }

    private mutating func look(
        at bytes: Span<UInt8>, _ range: Range<Int>, _ kind: ValueKind,
        _ type: AnchoredType, _ forms: Range<Int>, _ zone: UInt64
    ) throws(FormatError) {
        let part = bytes.extracting(0..<range.upperBound)
        var cursor = ByteCursor(at: range.lowerBound)
        switch kind {
        case .string: try look(atText: bytes, range, type, forms, zone)
        case .int64:
            let number = try cursor.signedVarint(part)
            look(at: AnchorValue(number), AnchorOrder(number), type, forms, zone)
        case .double:
            let number = try cursor.double(part)
            look(
                at: AnchorValue(.number, number), AnchorOrder(.number, number), type, forms,
                zone)
        case .date:
            let seconds = try cursor.double(part)
            look(at: AnchorValue(.date, seconds), AnchorOrder(.date, seconds), type, forms, zone)
        case .bytes:
            let hash = Checksum.xxh3(bytes, in: range, seed: secret)
            look(at: AnchorValue(.bytes, hash), nil, type, forms, zone)
        case .reference:
            let (_, name) = try ReferenceFields.read(bytes, in: range)
            let hash = Checksum.xxh3(bytes, in: name, seed: secret)
            look(at: AnchorValue(.reference, hash), nil, type, forms, zone)
        case .location:
            let latitude = try cursor.double(part)
            let longitude = try cursor.double(part)
            look(
                at: GeographicPoint(latitude: latitude, longitude: longitude), type, forms, zone)
        case .asset: return
        }
    }

    /// `value` and `order` are nil of what is not a number, or has no order.
    private mutating func look(
        at value: AnchorValue?, _ order: AnchorOrder?, _ type: AnchoredType,
        _ forms: Range<Int>, _ zone: UInt64
    ) {
        for place in forms {
            let form = type.forms[place]
            switch form.kind {
            case .equal: if let value { look(for: value, form, zone) }
            case .block: if let order { look(for: order.block(form.parameter), form, zone) }
            case .above, .below:
                guard let order else { continue }
                look(for: AnchorValue(order.kind), form, zone, bound: order.bits)
            case .always, .prefix, .word, .cell: continue
            }
        }
    }

    private mutating func look(
        atText bytes: Span<UInt8>, _ range: Range<Int>, _ type: AnchoredType,
        _ forms: Range<Int>, _ zone: UInt64
    ) throws(FormatError) {
        let isPlain = FoldedBytes.isFolded(bytes, in: range)
        if !isPlain {
            guard folded.fold(bytes, in: range) else { throw .text }
        }
        let length = isPlain ? range.count : folded.bytes.count
        for place in forms {
            let form = type.forms[place]
            switch form.kind {
            case .equal: look(atFirst: length, of: bytes, range, isPlain, form, zone)
            case .prefix:
                let count = Int(form.parameter)
                if count <= length { look(atFirst: count, of: bytes, range, isPlain, form, zone) }
            case .word:
                guard let text = bytes.text(in: range) else { throw .text }
                for word in SearchWords(text) {
                    look(for: AnchorValue(word, seed: secret), form, zone)
                }
            case .always, .block, .above, .below, .cell: continue
            }
        }
    }

    /// Looks up the first bytes of a folded text: the plain one in `range`, or what was folded last.
    private mutating func look(
        atFirst count: Int, of bytes: Span<UInt8>, _ range: Range<Int>, _ isPlain: Bool,
        _ form: AnchoredType.Form, _ zone: UInt64
    ) {
        let start = range.lowerBound
        let value =
            isPlain
            ? AnchorValue(folded: bytes, in: start..<start + count, seed: secret)
            : AnchorValue(folded: folded.bytes.span, in: 0..<count, seed: secret)
        look(for: value, form, zone)
    }

    private mutating func look(
        at point: GeographicPoint, _ type: AnchoredType, _ forms: Range<Int>, _ zone: UInt64
    ) {
        for place in forms {
            let form = type.forms[place]
            switch form.kind {
            case .equal: if let value = AnchorValue(point) { look(for: value, form, zone) }
            case .cell:
                // What is not on the earth has no distance from anything.
                guard abs(point.latitude) <= 90, point.longitude.isFinite else { continue }
                if point.hasFineLongitude, form.parameter <= AnchorGrid.finest {
                    let grid = AnchorGrid(level: form.parameter)
                    look(for: grid.cell(of: point), form, zone)
                } else {
                    let anywhere = Place(shape: form.hash, kind: form.kind, slot: nil)
                    hits.append(Hit(place: anywhere, bound: 0))
                }
            case .always, .prefix, .block, .above, .below, .word: continue
            }
        }
    }
}
