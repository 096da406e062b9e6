package import StratusBytes

/// What a long-lived request asks for: `Formats/Record.md`, "Request".
package struct RequestBody: Equatable, Sendable {
    /// A zone as the caller named it.
    package struct Zone: Equatable, Sendable {
        package var name: String
        package var owner: String

        package init(name: String, owner: String) {
            self.name = name
            self.owner = owner
        }
    }

    /// A record as the caller named it.
    package struct Name: Equatable, Sendable {
        package var zone: Zone
        package var record: String

        package init(zone: Zone, record: String) {
            self.zone = zone
            self.record = record
        }
    }

    package struct Field: Equatable, Sendable {
        package enum Content: Equatable, Sendable {
            case removed
            case value(FieldKind, [UInt8])
        }

        package var name: String
        package var content: Content
        package var isEncrypted: Bool
        /// Whether it was fetched and not edited since.
        package var isStored: Bool

        package init(name: String, _ content: Content, isEncrypted: Bool, isStored: Bool) {
            self.name = name
            self.content = content
            self.isEncrypted = isEncrypted
            self.isStored = isStored
        }
    }

    package enum Parent: Equatable, Sendable {
        case unknown
        case removed
        /// With the number of its action.
        case set(String, UInt8)
        /// It was fetched and not edited since.
        case stored(String, UInt8)
    }

    package struct Save: Equatable, Sendable {
        package var name: Name
        /// CloudKit's number.
        package var policy: UInt8
        package var replaces: Bool
        /// Whether the caller said that there is no such record yet.
        package var isCreation: Bool
        package var recordType: String
        /// That the edits began from; nil: none was ever stored.
        package var version: UInt64?
        package var parent: Parent
        /// In the order of their names, each once.
        package var fields: [Field]

        package init(
            name: Name, policy: UInt8, replaces: Bool, isCreation: Bool, recordType: String,
            version: UInt64?, parent: Parent, fields: [Field]
        ) {
            self.name = name
            self.policy = policy
            self.replaces = replaces
            self.isCreation = isCreation
            self.recordType = recordType
            self.version = version
            self.parent = parent
            self.fields = fields
        }
    }

    package struct Delete: Equatable, Sendable {
        package var name: Name
        package var tag: String?
        /// As the caller named it, for the answer.
        package var recordType: String?

        package init(name: Name, tag: String?, recordType: String?) {
            self.name = name
            self.tag = tag
            self.recordType = recordType
        }
    }

    package enum Item: Equatable, Sendable {
        case save(Save)
        case delete(Delete)
    }

    package struct Modification: Equatable, Sendable {
        package var items: [Item]
        /// Of the call as a whole; CloudKit's number.
        package var policy: UInt8
        package var isAtomic: Bool
        package var clientToken: [UInt8]?
        /// The fields that the answer has; nil: all.
        package var answerKeys: [String]?

        package init(
            items: [Item], policy: UInt8, isAtomic: Bool, clientToken: [UInt8]?,
            answerKeys: [String]?
        ) {
            self.items = items
            self.policy = policy
            self.isAtomic = isAtomic
            self.clientToken = clientToken
            self.answerKeys = answerKeys
        }
    }

    package struct Sort: Equatable, Sendable {
        package var key: String
        package var isAscending: Bool
        /// As ``ValueFormat`` has a location; nil: by the value of the field.
        package var location: [UInt8]?

        package init(key: String, isAscending: Bool, location: [UInt8]?) {
            self.key = key
            self.isAscending = isAscending
            self.location = location
        }
    }

    package struct Query: Equatable, Sendable {
        package var recordType: String
        /// As text.
        package var predicate: String
        package var sorts: [Sort]
        /// Nil: all zones of the database.
        package var zone: Zone?
        package var desiredKeys: [String]?
        /// 0: the usual one.
        package var limit: Int
        package var cursor: [UInt8]?

        package init(
            recordType: String, predicate: String, sorts: [Sort], zone: Zone?,
            desiredKeys: [String]?, limit: Int, cursor: [UInt8]?
        ) {
            self.recordType = recordType
            self.predicate = predicate
            self.sorts = sorts
            self.zone = zone
            self.desiredKeys = desiredKeys
            self.limit = limit
            self.cursor = cursor
        }
    }

    package struct ZoneChanges: Equatable, Sendable {
        package var zone: Zone
        package var token: [UInt8]?
        package var point: [UInt8]?
        package var desiredKeys: [String]?
        package var types: [String]?
        /// 0: the usual one.
        package var limit: Int
        package var isReversed: Bool
        package var numbersAsStrings: Bool

        package init(
            zone: Zone, token: [UInt8]?, point: [UInt8]?, desiredKeys: [String]?,
            types: [String]?, limit: Int, isReversed: Bool, numbersAsStrings: Bool
        ) {
            self.zone = zone
            self.token = token
            self.point = point
            self.desiredKeys = desiredKeys
            self.types = types
            self.limit = limit
            self.isReversed = isReversed
            self.numbersAsStrings = numbersAsStrings
        }
    }

    package enum Call: Equatable, Sendable {
        case modify(Modification)
        case move([Name], to: Zone)
        case records([Name], desiredKeys: [String]?)
        case query(Query)
        case zoneChanges([ZoneChanges])
        case databaseChanges(token: [UInt8]?, limit: Int)
    }

    package var call: Call
    /// Whether the answer in JSON has numbers as text.
    package var numbersAsStrings: Bool
    /// The moment of `now()` in the query, in milliseconds since 1970, for the marker of the next
    /// page; otherwise 0.
    package var moment: Int64

    package init(_ call: Call, numbersAsStrings: Bool = false, moment: Int64 = 0) {
        self.call = call
        self.numbersAsStrings = numbersAsStrings
        self.moment = moment
    }

    /// Whether it changes records, and does not only read them.
    package var isChange: Bool {
        switch call {
        case .modify, .move: true
        case .records, .query, .zoneChanges, .databaseChanges: false
        }
    }

    /// Of names of records, zones, types and fields, in bytes: more than is allowed, so that the
    /// call itself refuses what is too long.
    package static let textLimit = 4096
    package static let predicateLimit = 64 << 10
    package static let tokenLimit = 1024
    package static let cursorLimit = 64 << 10
    package static let pageLimit = 10_000
}

// Writing.
extension RequestBody {
    enum Kind {
        static let modify: UInt8 = 1
        static let move: UInt8 = 2
        static let records: UInt8 = 3
        static let query: UInt8 = 4
        static let zoneChanges: UInt8 = 5
        static let databaseChanges: UInt8 = 6
    }

    private var kind: UInt8 {
        switch call {
        case .modify: Kind.modify
        case .move: Kind.move
        case .records: Kind.records
        case .query: Kind.query
        case .zoneChanges: Kind.zoneChanges
        case .databaseChanges: Kind.databaseChanges
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
        }
    }

    /// The same bytes of what asks for the same: the items of a change may come in any order.
    package var comparable: [UInt8] {
        var body = self
        // What it means for the query stands in the predicate.
        body.moment = 0
        var writer = ByteWriter()
        if case .modify(var modification) = call {
            let items = modification.items.map { item -> [UInt8] in
                writer.removeAll()
                item.write(to: &writer)
                return writer.bytes
            }
            let order = items.indices.sorted { items[$0].lexicographicallyPrecedes(items[$1]) }
            modification.items = order.map { modification.items[$0] }
            body.call = .modify(modification)
        }
        writer.removeAll()
        body.write(to: &writer)
        return writer.bytes
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
        static let all: UInt8 = 7
    }

    fileprivate func write(to writer: inout ByteWriter) {
        name.write(to: &writer)
        writer.uint8(policy)
        writer.uint8(
            (replaces ? Flag.replaces : 0) | (isCreation ? Flag.isCreation : 0)
                | (version == nil ? 0 : Flag.hasVersion))
        writer.countedText(recordType)
        if let version { writer.varint(version) }
        parent.write(to: &writer)
        writer.list(fields) { $0.write(to: &$1) }
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
    fileprivate mutating func list<Element>(
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

    fileprivate mutating func optionalText(_ text: String?) {
        uint8(text == nil ? 0 : 1)
        if let text { countedText(text) }
    }

    /// 0 for none; otherwise the length and 1, then the bytes.
    fileprivate mutating func optionalBytes(_ bytes: [UInt8]?) {
        varint(bytes.map { $0.count + 1 } ?? 0)
        if let bytes { append(bytes) }
    }
}
