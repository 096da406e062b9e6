package import StratusBytes
internal import StratusJournal

/// The entry of a subscription: `Formats/Record.md`, "Subscription".
@usableFromInline package struct SubscriptionEntry: Equatable, Sendable {
    /// The database, as its user sees it.
    package enum Scope: UInt8, Sendable {
        case `public` = 1
        case `private` = 2
        case shared = 3

        /// The number of the database; nil of a shared one, which has zones of many.
        package func database(of user: UInt32) -> UInt32? {
            switch self {
            case .public: 0
            case .private: user
            case .shared: nil
            }
        }
    }

    package enum Kind: UInt8, Sendable {
        case query = 1
        case zone = 2
        case database = 3

        fileprivate func mayBe(in scope: Scope) -> Bool {
            switch scope {
            case .public: self == .query
            case .private: true
            case .shared: self == .database
            }
        }
    }

    /// When a query subscription fires. Asked of every match, so that it has to be inlined.
    @usableFromInline package struct Options: OptionSet, Hashable, Sendable {
        @usableFromInline package var rawValue: UInt8

        @inlinable package init(rawValue: UInt8) { self.rawValue = rawValue }

        @inlinable package static var firesOnCreation: Options { Options(rawValue: 1) }
        @inlinable package static var firesOnUpdate: Options { Options(rawValue: 2) }
        @inlinable package static var firesOnDeletion: Options { Options(rawValue: 4) }
        /// It ends with the first notification.
        @inlinable package static var firesOnce: Options { Options(rawValue: 8) }
        /// A record that ceases to match counts as updated.
        @inlinable package static var firesOnEnd: Options { Options(rawValue: 16) }
        /// Its notifications count in the badge. Like the next one it stands in rows of the index,
        /// and not in entries.
        @inlinable package static var badges: Options { Options(rawValue: 32) }
        /// Its notifications bring values of fields.
        @inlinable package static var namesFields: Options { Options(rawValue: 64) }

        fileprivate static let known = Options(rawValue: 31)
    }

    /// A subscription that is replaced or ends.
    package struct Replaced: Equatable, Sendable {
        /// Where its entry lies.
        package var number: UInt64
        /// Of a query; otherwise empty.
        package var recordType: String
        package var anchors: [SubscriptionAnchor]

        package init(number: UInt64, recordType: String, anchors: [SubscriptionAnchor]) {
            self.number = number
            self.recordType = recordType
            self.anchors = anchors
        }
    }

    package var options: Options
    /// The subscriber.
    package var user: UInt32
    package var scope: Scope
    package var kind: Kind
    package var id: String
    /// Empty: all types.
    package var recordType: String
    /// The name; empty: all zones.
    package var zone: String
    /// As text; empty where it is no query.
    package var predicate: String
    package var info: SubscriptionInfo?
    /// What it replaces.
    package var former: Replaced?
    /// Of one to zones that goes on telling what one before it told: the number of the first of them.
    /// Otherwise 0.
    package var origin: UInt64 = 0
    package var anchors: [SubscriptionAnchor]

    /// In bytes.
    package static let predicateLimit = 65536

    package init(
        options: Options = [], user: UInt32, scope: Scope, kind: Kind, id: String,
        recordType: String = "", zone: String = "", predicate: String = "",
        info: SubscriptionInfo? = nil, former: Replaced? = nil, anchors: [SubscriptionAnchor] = []
    ) {
        self.options = options.intersection(.known)
        self.user = user
        self.scope = scope
        self.kind = kind
        self.id = id
        self.recordType = recordType
        self.zone = zone
        self.predicate = predicate
        self.info = info
        self.former = former
        self.anchors = anchors
    }

    /// The number of the database; nil of a shared one.
    package var database: UInt32? { scope.database(of: user) }

    /// With what the index says of it besides.
    package var indexedOptions: Options {
        var all = options
        guard let info else { return all }
        if info.shouldBadge { all.insert(.badges) }
        if !info.namedFields.isEmpty { all.insert(.namesFields) }
        return all
    }

    /// What the entry says that ends this one, which lies at `number`.
    package func former(at number: UInt64) -> Replaced {
        Replaced(
            number: number, recordType: kind == .query ? recordType : "", anchors: anchors)
    }

    package func write(to writer: inout ByteWriter) {
        writer.varint(UInt64(options.rawValue))
        writer.varint(user)
        writer.uint8(scope.rawValue)
        writer.uint8(kind.rawValue)
        writer.countedText(id)
        writer.countedText(recordType)
        writer.countedText(zone)
        writer.countedText(predicate)
        writer.uint8(info == nil ? 0 : 1)
        if let info { info.write(to: &writer) }
        writer.varint(former?.number ?? 0)
        if let former {
            writer.countedText(former.recordType)
            SubscriptionAnchor.write(former.anchors, to: &writer)
            writer.varint(origin)
        }
        SubscriptionAnchor.write(anchors, to: &writer)
    }

    package init(_ bytes: Span<UInt8>) throws(FormatError) {
        var cursor = ByteCursor()
        let flags = try cursor.varint(bytes)
        guard flags & ~UInt64(Options.known.rawValue) == 0 else { throw .newer("flags") }
        options = Options(rawValue: UInt8(truncatingIfNeeded: flags))
        user = try cursor.varint32(bytes)
        guard user > 0 else { throw .value("user") }
        scope = try Scope(bytes, &cursor)
        guard let kind = Kind(rawValue: try cursor.uint8(bytes)) else {
            throw .newer("subscription kind")
        }
        guard kind.mayBe(in: scope) else { throw .value("subscription kind") }
        if kind != .query, !options.isEmpty { throw .value("flags") }
        self.kind = kind
        id = try Self.readID(bytes, &cursor)
        let recordType = try cursor.text(bytes, upTo: NameRules.limit)
        if kind == .query, recordType.isEmpty { throw .value("type") }
        self.recordType = recordType
        let zone = try cursor.text(bytes, upTo: NameRules.limit)
        switch kind {
        case .query: break
        case .zone: if zone.isEmpty { throw .value("zone") }
        case .database: if !zone.isEmpty { throw .value("zone") }
        }
        self.zone = zone
        let predicate = try cursor.text(bytes, upTo: Self.predicateLimit)
        if kind != .query, !predicate.isEmpty { throw .value("predicate") }
        self.predicate = predicate
        let hasInfo = try cursor.uint8(bytes)
        guard hasInfo <= 1 else { throw .value("info") }
        if hasInfo == 1 { info = try SubscriptionInfo(bytes, &cursor) }
        let number = try cursor.varint(bytes)
        if number != 0 {
            former = try Replaced(number, bytes, &cursor)
            origin = try cursor.varint(bytes)
            guard origin <= number, origin == 0 || kind != .query else { throw .value("origin") }
        }
        anchors = try SubscriptionAnchor.list(bytes, &cursor)
        if kind != .query, !anchors.isEmpty { throw .value("anchors") }
        try ExtensionBlock.end(bytes, &cursor)
    }

    static func readID(
        _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) -> String {
        let id = try cursor.text(bytes, upTo: NameRules.limit)
        guard !id.isEmpty else { throw .value("subscriptionID") }
        return id
    }
}

extension SubscriptionEntry.Scope {
    init(_ bytes: Span<UInt8>, _ cursor: inout ByteCursor) throws(FormatError) {
        guard let scope = Self(rawValue: try cursor.uint8(bytes)) else { throw .newer("scope") }
        self = scope
    }
}

extension SubscriptionEntry.Replaced {
    /// Of the subscription of that number, which was read.
    init(
        _ number: UInt64, _ bytes: Span<UInt8>, _ cursor: inout ByteCursor
    ) throws(FormatError) {
        guard number > 0, number < JournalOffset.limit else { throw .value("number") }
        self.number = number
        recordType = try cursor.text(bytes, upTo: NameRules.limit)
        anchors = try SubscriptionAnchor.list(bytes, &cursor)
    }
}
