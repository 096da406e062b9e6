package import StratusBytes

// Reading: any bytes are a body or fail.
extension RequestBody {
    package init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let kind = try cursor.uint8(bytes)
        numbersAsStrings = try cursor.bool(bytes)
        moment = try cursor.signedVarint(bytes)
        switch kind {
        case Kind.modify: call = .modify(try Modification(bytes, &cursor))
        case Kind.move:
            let names = try Self.names(bytes, &cursor)
            call = .move(names, to: try Zone(bytes, &cursor))
        case Kind.records:
            let names = try Self.names(bytes, &cursor)
            call = .records(names, desiredKeys: try cursor.texts(bytes))
        case Kind.query: call = .query(try Query(bytes, &cursor))
        case Kind.zoneChanges:
            call = .zoneChanges(
                try cursor.list(bytes) { bytes, cursor throws(FormatError) in
                    try ZoneChanges(bytes, &cursor)
                })
        case Kind.databaseChanges:
            let token = try cursor.optionalBytes(bytes, upTo: Self.tokenLimit)
            call = .databaseChanges(
                token: token, limit: try cursor.count(bytes, upTo: Self.pageLimit))
        case Kind.zones:
            call = .zones(
                try cursor.list(bytes) { bytes, cursor throws(FormatError) in
                    try ZoneItem(bytes, &cursor)
                })
        case Kind.subscriptions:
            call = .subscriptions(
                try cursor.list(bytes) { bytes, cursor throws(FormatError) in
                    try SubscriptionItem(bytes, &cursor)
                })
        default: throw .newer("request")
        }
        if moment != 0, kind != Kind.query, kind != Kind.subscriptions { throw .value("moment") }
    }

    private static func names(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> [Name] {
        try cursor.list(bytes) { bytes, cursor throws(FormatError) in try Name(bytes, &cursor) }
    }
}

extension RequestBody.Zone {
    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        name = try cursor.text(bytes, upTo: RequestBody.textLimit)
        owner = try cursor.text(bytes, upTo: RequestBody.textLimit)
    }
}

extension RequestBody.Name {
    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        zone = try RequestBody.Zone(bytes, &cursor)
        record = try cursor.text(bytes, upTo: RequestBody.textLimit)
    }
}

extension RequestBody.Modification {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        policy = try cursor.policy(bytes)
        isAtomic = try cursor.bool(bytes)
        clientToken = try cursor.optionalBytes(bytes, upTo: ClientTokenEntry.tokenLimit)
        answerKeys = try cursor.texts(bytes)
        items = try cursor.list(bytes) { bytes, cursor throws(FormatError) in
            try RequestBody.Item(bytes, &cursor)
        }
    }
}

extension RequestBody.Item {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        switch try cursor.uint8(bytes) {
        case Self.saves: self = .save(try RequestBody.Save(bytes, &cursor))
        case Self.deletes:
            let name = try RequestBody.Name(bytes, &cursor)
            let tag = try cursor.optionalText(bytes)
            self = .delete(
                RequestBody.Delete(
                    name: name, tag: tag, recordType: try cursor.optionalText(bytes)))
        default: throw .value("item")
        }
    }
}

extension RequestBody.Save {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        name = try RequestBody.Name(bytes, &cursor)
        policy = try cursor.policy(bytes)
        let flags = try cursor.flags(bytes, upTo: Flag.all)
        replaces = flags & Flag.replaces != 0
        isCreation = flags & Flag.isCreation != 0
        recordType = try cursor.text(bytes, upTo: RequestBody.textLimit)
        version = flags & Flag.hasVersion == 0 ? nil : 0
        if version != nil { version = try cursor.varint(bytes) }
        parent = try RequestBody.Parent(bytes, &cursor)
        let count = try cursor.count(bytes, upTo: cursor.remaining(bytes))
        fields = []
        for _ in 0..<count {
            let field = try RequestBody.Field(bytes, &cursor)
            if let last = fields.last?.name.utf8 {
                guard last.lexicographicallyPrecedes(field.name.utf8) else {
                    throw .value("field order")
                }
            }
            fields.append(field)
        }
        share = flags & Flag.editsShare == 0 ? nil : try RequestBody.ShareEdit(bytes, &cursor)
    }
}

extension RequestBody.Parent {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let kind = try cursor.uint8(bytes)
        switch kind {
        case Kind.unknown: self = .unknown
        case Kind.removed: self = .removed
        case Kind.set, Kind.stored:
            let name = try cursor.text(bytes, upTo: RequestBody.textLimit)
            let action = try cursor.uint8(bytes)
            guard action <= 2 else { throw .newer("action") }
            self = kind == Kind.set ? .set(name, action) : .stored(name, action)
        default: throw .newer("parent")
        }
    }
}

extension RequestBody.Field {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        name = try cursor.text(bytes, upTo: RequestBody.textLimit)
        let flags = try cursor.flags(bytes, upTo: Flag.all)
        isEncrypted = flags & Flag.isEncrypted != 0
        isStored = flags & Flag.isStored != 0
        if flags & Flag.isRemoved != 0 {
            if isStored { throw .value("flags") }
            content = .removed
            return
        }
        let kind = try FieldKind(bytes, &cursor)
        if kind.isEncrypted { throw .value("field kind") }
        if isEncrypted, kind.encrypted == nil, isStored { throw .value("field kind") }
        let length = try cursor.count(bytes, upTo: cursor.remaining(bytes))
        let range = try cursor.range(bytes, count: length)
        try ValueFormat.check(bytes, in: range, kind)
        content = .value(kind, bytes.array(in: range))
    }
}

extension RequestBody.Query {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        recordType = try cursor.text(bytes, upTo: RequestBody.textLimit)
        predicate = try cursor.text(bytes, upTo: RequestBody.predicateLimit)
        sorts = try cursor.list(bytes) { bytes, cursor throws(FormatError) in
            try RequestBody.Sort(bytes, &cursor)
        }
        let hasZone = try cursor.bool(bytes)
        zone = nil
        if hasZone { zone = try RequestBody.Zone(bytes, &cursor) }
        desiredKeys = try cursor.texts(bytes)
        limit = try cursor.count(bytes, upTo: RequestBody.pageLimit)
        self.cursor = try cursor.optionalBytes(bytes, upTo: RequestBody.cursorLimit)
    }
}

extension RequestBody.Sort {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        key = try cursor.text(bytes, upTo: RequestBody.textLimit)
        let flags = try cursor.flags(bytes, upTo: Flag.all)
        isAscending = flags & Flag.isAscending != 0
        location = nil
        guard flags & Flag.hasLocation != 0 else { return }
        let range = try cursor.range(bytes, count: 64)
        location = bytes.array(in: range)
    }
}

extension RequestBody.ZoneChanges {
    fileprivate init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        zone = try RequestBody.Zone(bytes, &cursor)
        let flags = try cursor.flags(bytes, upTo: Flag.all)
        isReversed = flags & Flag.isReversed != 0
        numbersAsStrings = flags & Flag.numbersAsStrings != 0
        token = try cursor.optionalBytes(bytes, upTo: RequestBody.tokenLimit)
        point = try cursor.optionalBytes(bytes, upTo: RequestBody.tokenLimit)
        desiredKeys = try cursor.texts(bytes)
        types = try cursor.texts(bytes)
        limit = try cursor.count(bytes, upTo: RequestBody.pageLimit)
    }
}

extension ByteCursor {
    /// A byte of which `limit` is the sum of all bits that it may have.
    fileprivate mutating func flags(
        _ bytes: Span<UInt8>, upTo limit: UInt8
    ) throws(FormatError) -> UInt8 {
        let flags = try uint8(bytes)
        guard flags <= limit else { throw .newer("flags") }
        return flags
    }

    /// A byte that is 0 or 1.
    mutating func bool(_ bytes: Span<UInt8>) throws(FormatError) -> Bool {
        switch try uint8(bytes) {
        case 0: return false
        case 1: return true
        default: throw .value("0 or 1")
        }
    }

    /// The number of a save policy.
    fileprivate mutating func policy(_ bytes: Span<UInt8>) throws(FormatError) -> UInt8 {
        let policy = try uint8(bytes)
        guard policy <= 2 else { throw .newer("save policy") }
        return policy
    }

    /// A count, then the elements.
    fileprivate mutating func list<Element>(
        _ bytes: Span<UInt8>,
        _ read: (Span<UInt8>, inout ByteCursor) throws(FormatError) -> Element
    ) throws(FormatError) -> [Element] {
        let count = try count(bytes, upTo: remaining(bytes))
        var elements: [Element] = []
        for _ in 0..<count { elements.append(try read(bytes, &self)) }
        return elements
    }

    fileprivate mutating func texts(_ bytes: Span<UInt8>) throws(FormatError) -> [String]? {
        let count = try count(bytes, upTo: remaining(bytes) + 1)
        guard count > 0 else { return nil }
        var texts: [String] = []
        for _ in 1..<count { texts.append(try text(bytes, upTo: RequestBody.textLimit)) }
        return texts
    }

    mutating func optionalText(_ bytes: Span<UInt8>) throws(FormatError) -> String? {
        guard try bool(bytes) else { return nil }
        return try text(bytes, upTo: RequestBody.textLimit)
    }

    fileprivate mutating func optionalBytes(
        _ bytes: Span<UInt8>, upTo limit: Int
    ) throws(FormatError) -> [UInt8]? {
        let count = try count(bytes, upTo: limit + 1)
        guard count > 0 else { return nil }
        let range = try range(bytes, count: count - 1)
        return bytes.array(in: range)
    }
}
