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
        /// Of the record of a share what is changed of the share.
        package var share: ShareEdit?

        package init(
            name: Name, policy: UInt8, replaces: Bool, isCreation: Bool, recordType: String,
            version: UInt64?, parent: Parent, fields: [Field], share: ShareEdit? = nil
        ) {
            self.name = name
            self.policy = policy
            self.replaces = replaces
            self.isCreation = isCreation
            self.recordType = recordType
            self.version = version
            self.parent = parent
            self.fields = fields
            self.share = share
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
        case zones([ZoneItem])
        case subscriptions([SubscriptionItem])
    }

    package var call: Call
    /// Whether the answer in JSON has numbers as text.
    package var numbersAsStrings: Bool
    /// The moment of `now()` in the predicates of a query or of subscriptions, in milliseconds since
    /// 1970; otherwise 0.
    package var moment: Int64

    package init(_ call: Call, numbersAsStrings: Bool = false, moment: Int64 = 0) {
        self.call = call
        self.numbersAsStrings = numbersAsStrings
        self.moment = moment
    }

    /// Whether it changes the store, and does not only read it.
    package var isChange: Bool {
        switch call {
        case .modify, .move, .zones, .subscriptions: true
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
