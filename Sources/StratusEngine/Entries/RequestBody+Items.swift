internal import StratusBytes

// What a request does to zones and subscriptions: `Formats/Record.md`, "Request", kinds 7 and 8.
extension RequestBody {
    /// What is to be done to a zone.
    package struct ZoneItem: Equatable, Sendable {
        package enum Action: UInt8, Sendable {
            case save = 1
            case delete = 2
            /// It is deleted and reported as purged.
            case purge = 3
        }

        package var action: Action
        package var zone: Zone

        package init(_ action: Action, _ zone: Zone) {
            self.action = action
            self.zone = zone
        }
    }

    /// A subscription as the caller gave it.
    package struct Subscription: Equatable, Sendable {
        package enum Kind: Equatable, Sendable {
            /// The predicate as text; without a zone, all of the database.
            case query(recordType: String, predicate: String, zone: Zone?, options: UInt8)
            case zone(Zone, recordType: String?)
            case database(recordType: String?)
        }

        package var id: String
        package var kind: Kind
        package var info: SubscriptionInfo?

        package init(id: String, kind: Kind, info: SubscriptionInfo?) {
            self.id = id
            self.kind = kind
            self.info = info
        }
    }

    /// What is to be done to a subscription.
    package enum SubscriptionItem: Equatable, Sendable {
        /// `isUpdate`: there must be one of its ID.
        case save(Subscription, isUpdate: Bool)
        case delete(String)
    }
}

extension RequestBody.ZoneItem {
    func write(to writer: inout ByteWriter) {
        writer.uint8(action.rawValue)
        zone.write(to: &writer)
    }

    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        guard let action = Action(rawValue: try cursor.uint8(bytes)) else {
            throw .newer("zone item")
        }
        self.action = action
        zone = try RequestBody.Zone(bytes, &cursor)
    }
}

extension RequestBody.SubscriptionItem {
    private enum Action {
        static let save: UInt8 = 1
        static let update: UInt8 = 2
        static let delete: UInt8 = 3
    }

    func write(to writer: inout ByteWriter) {
        switch self {
        case .save(let subscription, let isUpdate):
            writer.uint8(isUpdate ? Action.update : Action.save)
            subscription.write(to: &writer)
        case .delete(let id):
            writer.uint8(Action.delete)
            writer.countedText(id)
        }
    }

    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        let action = try cursor.uint8(bytes)
        switch action {
        case Action.save, Action.update:
            self = .save(
                try RequestBody.Subscription(bytes, &cursor), isUpdate: action == Action.update)
        case Action.delete: self = .delete(try cursor.text(bytes, upTo: RequestBody.textLimit))
        default: throw .newer("subscription item")
        }
    }
}

extension RequestBody.Subscription {
    func write(to writer: inout ByteWriter) {
        writer.countedText(id)
        switch kind {
        case .query(let type, let predicate, let zone, let options):
            writer.uint8(SubscriptionEntry.Kind.query.rawValue)
            writer.countedText(type)
            writer.countedText(predicate)
            writer.uint8(zone == nil ? 0 : 1)
            if let zone { zone.write(to: &writer) }
            writer.uint8(options)
        case .zone(let zone, let type):
            writer.uint8(SubscriptionEntry.Kind.zone.rawValue)
            zone.write(to: &writer)
            writer.optionalText(type)
        case .database(let type):
            writer.uint8(SubscriptionEntry.Kind.database.rawValue)
            writer.optionalText(type)
        }
        writer.uint8(info == nil ? 0 : 1)
        if let info { info.write(to: &writer) }
    }

    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        id = try cursor.text(bytes, upTo: RequestBody.textLimit)
        switch try cursor.uint8(bytes) {
        case SubscriptionEntry.Kind.query.rawValue:
            let type = try cursor.text(bytes, upTo: RequestBody.textLimit)
            let predicate = try cursor.text(bytes, upTo: RequestBody.predicateLimit)
            var zone: RequestBody.Zone?
            if try cursor.bool(bytes) { zone = try RequestBody.Zone(bytes, &cursor) }
            kind = .query(
                recordType: type, predicate: predicate, zone: zone,
                options: try cursor.uint8(bytes))
        case SubscriptionEntry.Kind.zone.rawValue:
            let zone = try RequestBody.Zone(bytes, &cursor)
            kind = .zone(zone, recordType: try cursor.optionalText(bytes))
        case SubscriptionEntry.Kind.database.rawValue:
            kind = .database(recordType: try cursor.optionalText(bytes))
        default: throw .newer("subscription kind")
        }
        info = try cursor.bool(bytes) ? SubscriptionInfo(bytes, &cursor) : nil
    }
}
