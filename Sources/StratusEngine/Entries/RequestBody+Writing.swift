package import StratusBytes

// Writing.
extension RequestBody {
    enum Kind {
        static let modify: UInt8 = 1
        static let move: UInt8 = 2
        static let records: UInt8 = 3
        static let query: UInt8 = 4
        static let zoneChanges: UInt8 = 5
        static let databaseChanges: UInt8 = 6
        static let zones: UInt8 = 7
        static let subscriptions: UInt8 = 8
    }

    private var kind: UInt8 {
        switch call {
        case .modify: Kind.modify
        case .move: Kind.move
        case .records: Kind.records
        case .query: Kind.query
        case .zoneChanges: Kind.zoneChanges
        case .databaseChanges: Kind.databaseChanges
        case .zones: Kind.zones
        case .subscriptions: Kind.subscriptions
        }
    }

    package func write(to writer: inout ByteWriter) {
        writer.uint8(kind)
        writer.uint8(numbersAsStrings ? 1 : 0)
        writer.signedVarint(moment)
        switch call {
        case .modify(let modification): modification.write(to: &writer)
        case .move(let names, let zone):
            writer.list(names) { $0.write(to: &$1) }
            zone.write(to: &writer)
        case .records(let names, let keys):
            writer.list(names) { $0.write(to: &$1) }
            writer.texts(keys)
        case .query(let query): query.write(to: &writer)
        case .zoneChanges(let zones): writer.list(zones) { $0.write(to: &$1) }
        case .databaseChanges(let token, let limit):
            writer.optionalBytes(token)
            writer.varint(limit)
        case .zones(let items): writer.list(items) { $0.write(to: &$1) }
        case .subscriptions(let items): writer.list(items) { $0.write(to: &$1) }
        }
    }

    /// The same bytes of what asks for the same: the items of a change may come in any order.
    package var comparable: [UInt8] {
        var body = self
        // What it means for the query stands in the predicate.
        body.moment = 0
        switch call {
        case .modify(var modification):
            modification.items = Self.sorted(modification.items) { $0.write(to: &$1) }
            body.call = .modify(modification)
        case .zones(let items):
            body.call = .zones(Self.sorted(items) { $0.write(to: &$1) })
        case .subscriptions(let items):
            body.call = .subscriptions(Self.sorted(items) { $0.write(to: &$1) })
        case .move, .records, .query, .zoneChanges, .databaseChanges: break
        }
        var writer = ByteWriter()
        body.write(to: &writer)
        return writer.bytes
    }

    /// In the order of the bytes that they are written as.
    private static func sorted<Item>(
        _ items: [Item], _ write: (Item, inout ByteWriter) -> Void
    ) -> [Item] {
        let keys = items.map { item in
            var writer = ByteWriter()
            write(item, &writer)
            return writer.bytes
        }
        return items.indices.sorted { keys[$0].lexicographicallyPrecedes(keys[$1]) }.map {
            items[$0]
        }
    }
}

extension RequestBody.Zone {
    func write(to writer: inout ByteWriter) {
        writer.countedText(name)
        writer.countedText(owner)
    }
}

extension RequestBody.Name {
    func write(to writer: inout ByteWriter) {
        zone.write(to: &writer)
        writer.countedText(record)
    }
}

extension RequestBody.Modification {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.uint8(policy)
        writer.uint8(isAtomic ? 1 : 0)
        writer.optionalBytes(clientToken)
        writer.texts(answerKeys)
        writer.list(items) { $0.write(to: &$1) }
    }
}

extension RequestBody.Item {
    static let saves: UInt8 = 1
    static let deletes: UInt8 = 2

    fileprivate func write(to writer: inout ByteWriter) {
        switch self {
        case .save(let save):
            writer.uint8(Self.saves)
            save.write(to: &writer)
        case .delete(let delete):
            writer.uint8(Self.deletes)
            delete.name.write(to: &writer)
            writer.optionalText(delete.tag)
            writer.optionalText(delete.recordType)
        }
    }
}

extension RequestBody.Save {
    enum Flag {
        static let replaces: UInt8 = 1
        static let isCreation: UInt8 = 2
        static let hasVersion: UInt8 = 4
        static let editsShare: UInt8 = 8
        static let all: UInt8 = 15
    }

    fileprivate func write(to writer: inout ByteWriter) {
        name.write(to: &writer)
        writer.uint8(policy)
        writer.uint8(
            (replaces ? Flag.replaces : 0) | (isCreation ? Flag.isCreation : 0)
                | (version == nil ? 0 : Flag.hasVersion)
                | (share == nil ? 0 : Flag.editsShare))
        writer.countedText(recordType)
        if let version { writer.varint(version) }
        parent.write(to: &writer)
        writer.list(fields) { $0.write(to: &$1) }
        share?.write(to: &writer)
    }
}

extension RequestBody.Parent {
    enum Kind {
        static let unknown: UInt8 = 0
        static let removed: UInt8 = 1
        static let set: UInt8 = 2
        static let stored: UInt8 = 3
    }

    fileprivate func write(to writer: inout ByteWriter) {
        switch self {
        case .unknown: writer.uint8(Kind.unknown)
        case .removed: writer.uint8(Kind.removed)
        case .set(let name, let action):
            writer.uint8(Kind.set)
            writer.countedText(name)
            writer.uint8(action)
        case .stored(let name, let action):
            writer.uint8(Kind.stored)
            writer.countedText(name)
            writer.uint8(action)
        }
    }
}

extension RequestBody.Field {
    enum Flag {
        static let isRemoved: UInt8 = 1
        static let isEncrypted: UInt8 = 2
        static let isStored: UInt8 = 4
        static let all: UInt8 = 7
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.countedText(name)
        var flags = (isEncrypted ? Flag.isEncrypted : 0) | (isStored ? Flag.isStored : 0)
        guard case .value(let kind, let bytes) = content else {
            flags |= Flag.isRemoved
            writer.uint8(flags)
            return
        }
        writer.uint8(flags)
        writer.uint8(kind.rawValue)
        writer.varint(bytes.count)
        writer.append(bytes)
    }
}

extension RequestBody.Sort {
    enum Flag {
        static let isAscending: UInt8 = 1
        static let hasLocation: UInt8 = 2
        static let all: UInt8 = 3
    }

    fileprivate func write(to writer: inout ByteWriter) {
        writer.countedText(key)
        writer.uint8(
            (isAscending ? Flag.isAscending : 0) | (location == nil ? 0 : Flag.hasLocation))
        if let location { writer.append(location) }
    }
}

extension RequestBody.Query {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.countedText(recordType)
        writer.countedText(predicate)
        writer.list(sorts) { $0.write(to: &$1) }
        writer.uint8(zone == nil ? 0 : 1)
        if let zone { zone.write(to: &writer) }
        writer.texts(desiredKeys)
        writer.varint(limit)
        writer.optionalBytes(cursor)
    }
}

extension RequestBody.ZoneChanges {
    enum Flag {
        static let isReversed: UInt8 = 1
        static let numbersAsStrings: UInt8 = 2
        static let all: UInt8 = 3
    }

    fileprivate func write(to writer: inout ByteWriter) {
        zone.write(to: &writer)
        writer.uint8(
            (isReversed ? Flag.isReversed : 0)
                | (numbersAsStrings ? Flag.numbersAsStrings : 0))
        writer.optionalBytes(token)
        writer.optionalBytes(point)
        writer.texts(desiredKeys)
        writer.texts(types)
        writer.varint(limit)
    }
}

extension ByteWriter {
    /// A count, then the elements.
    mutating func list<Element>(
        _ elements: [Element], _ write: (Element, inout ByteWriter) -> Void
    ) {
        varint(elements.count)
        for element in elements { write(element, &self) }
    }

    /// 0 for none; otherwise the count and 1, then the texts.
    fileprivate mutating func texts(_ texts: [String]?) {
        varint(texts.map { $0.count + 1 } ?? 0)
        for text in texts ?? [] { countedText(text) }
    }

    mutating func optionalText(_ text: String?) {
        uint8(text == nil ? 0 : 1)
        if let text { countedText(text) }
    }

    /// 0 for none; otherwise the length and 1, then the bytes.
    fileprivate mutating func optionalBytes(_ bytes: [UInt8]?) {
        varint(bytes.map { $0.count + 1 } ?? 0)
        if let bytes { append(bytes) }
    }
}
