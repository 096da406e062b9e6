internal import StratusEngine

/// How much a container lets its callers do; nil stands for as much as they like.
///
/// What is refused, with which code, and how bytes are counted: `Formats/README.md`, "Limits".
public struct Profile: Sendable, Hashable {
    /// How many requests a user may make. All callers without a name are one user.
    public struct RequestRate: Sendable, Hashable {
        /// In the long run, in requests a second; at least 1.
        public var perSecond: Int
        /// At once, by a user who made none for a while; at least 1.
        public var burst: Int

        /// So many requests a second, and so many at once.
        public init(perSecond: Int, burst: Int) {
            self.perSecond = perSecond
            self.burst = burst
        }
    }

    /// What a predicate may ask.
    public enum Predicates: String, Sendable, Hashable {
        /// What CloudKit's service answers.
        case service
        /// Also `OR`, `NOT` of compounds, `CONTAINS`, `ENDSWITH` and `LIKE` on strings, tests for missing
        /// values, `ALL`, and the parent.
        case extended
    }

    /// Which indexes there are, and what queries may ask without one.
    public enum Indexing: String, Sendable, Hashable {
        /// As CloudKit's service: a field that a save makes has all indexes that its values can have, and
        /// a query that asks for more than fields are marked as fails with `invalidArguments`.
        case service
        /// Those that are declared. A query without one looks at all records of its type.
        case declared
    }

    /// Records that one call saves, deletes and fetches.
    public var itemsPerRequest: Int?
    /// Bytes of the fields that one call saves, assets left out.
    public var bytesPerRequest: Int?
    /// Bytes of the fields of one record, assets left out.
    public var bytesPerRecord: Int?
    /// References with the action `deleteSelf` to one record.
    public var referencesPerTarget: Int?
    /// Participants of one share, its owner included.
    public var participantsPerShare: Int?
    /// Calls of one user, whatever they ask for.
    public var requestRate: RequestRate?
    /// Unfinished commits to one zone.
    public var commitsWaitingPerZone: Int?
    /// Bytes that the private database of one user takes.
    public var userQuota: Int?
    /// Bytes that the public database takes.
    public var publicQuota: Int?
    /// The predicates of queries.
    public var predicates: Predicates
    /// The indexes of fields.
    public var indexing: Indexing
    /// Whether a save of a record in a shared hierarchy gives its parent a new tag, too.
    public var touchesParents: Bool
    /// Whether subscriptions are refused that CloudKit was seen to refuse: one with the content of
    /// another one of its user and database, and one whose notifications are shown and wake the app
    /// in the background.
    public var refusesUnusualSubscriptions: Bool

    /// A profile of these limits.
    public init(
        itemsPerRequest: Int? = nil, bytesPerRequest: Int? = nil, bytesPerRecord: Int? = nil,
        referencesPerTarget: Int? = nil, participantsPerShare: Int? = nil,
        requestRate: RequestRate? = nil,
        commitsWaitingPerZone: Int? = nil, userQuota: Int? = nil, publicQuota: Int? = nil,
        predicates: Predicates = .extended, indexing: Indexing = .declared,
        touchesParents: Bool = false,
        refusesUnusualSubscriptions: Bool = false
    ) {
        self.itemsPerRequest = itemsPerRequest
        self.bytesPerRequest = bytesPerRequest
        self.bytesPerRecord = bytesPerRecord
        self.referencesPerTarget = referencesPerTarget
        self.participantsPerShare = participantsPerShare
        self.requestRate = requestRate
        self.commitsWaitingPerZone = commitsWaitingPerZone
        self.userQuota = userQuota
        self.publicQuota = publicQuota
        self.predicates = predicates
        self.indexing = indexing
        self.touchesParents = touchesParents
        self.refusesUnusualSubscriptions = refusesUnusualSubscriptions
    }

    /// No limits but those of the format.
    public static let unlimited = Profile()

    /// The limits of CloudKit, as far as they are known: 400 items and 2 MB a call, 1 MB a record,
    /// 750 references, 100 participants of a share, 40 requests a second and 80 at once, 64 unfinished
    /// commits to a zone. It sets no quota.
    public static let cloudKit = Profile(
        itemsPerRequest: 400, bytesPerRequest: 2_000_000, bytesPerRecord: 1_000_000,
        referencesPerTarget: 750, participantsPerShare: 100,
        requestRate: RequestRate(perSecond: 40, burst: 80),
        commitsWaitingPerZone: 64, predicates: .service, indexing: .service,
        touchesParents: true, refusesUnusualSubscriptions: true)
}

extension Profile {
    /// Of the database, in bytes.
    func quota(of scope: DatabaseScope) -> Int? {
        switch scope {
        case .public: publicQuota
        // What others share counts to its owner.
        case .private, .shared: userQuota
        }
    }
}
