/// What a salvage brought out of a damaged store, and what not.
public struct SalvageReport: Hashable, Sendable {
    /// A stretch of the journal that could not be read.
    public struct Loss: Hashable, Sendable {
        /// Where it begins and what is wrong there.
        public var place: StoreError.Place
        /// The offsets of the journal that it takes.
        public var offsets: Range<UInt64>
        /// Whether it held nothing but what keeps the journal itself: no record is concerned.
        public var isOfJournalAlone: Bool
        /// Whether it lies at the end of the journal, where a crash may have cut off what was never
        /// acknowledged: a store that ends like this opens, and says that something may be lost.
        public var mayBeUnwritten: Bool
        /// What was in it, as far as headers tell that are whole: kinds of entries as `stratus log`
        /// names them, each with the number of its zone, 0 for none.
        public var entries: [Entry]
        /// The records whose newest version, or whose deletion, was in it, as far as the index knew
        /// them. A version that was replaced later is no loss.
        public var records: [LostRecord]
        /// The maps of the index that have something else in it, such as `participations` or `roles`: of
        /// that an earlier state is in force, so that access may be back that was taken away.
        public var maps: [String]
        /// Whether the index knew all of it, so that ``records`` and ``maps`` are complete.
        public var isKnown: Bool

        /// Whether the newest state of everything came out in spite of it.
        public var isHarmless: Bool {
            isOfJournalAlone
                || isKnown && maps.isEmpty && records.allSatisfy { $0.state == .deleted }
        }

        /// An entry of the journal.
        public struct Entry: Hashable, Sendable {
            /// As `stratus log` names it.
            public var kind: String
            /// Of the zone that it is of; 0: it is of none.
            public var zoneNumber: UInt32
            /// The name of that zone; nil where it is none that came out.
            public var zoneName: String?
            /// The user record name of the owner of that zone; nil also for the public database.
            public var owner: String?
        }
    }

    /// A record whose newest state is lost.
    public struct LostRecord: Hashable, Sendable {
        /// The user record name of the owner of its database; nil: the public database.
        public var owner: String?
        /// The name of its zone; of one that did not come out `lost-` and its number.
        public var zoneName: String
        /// Nil where nothing of the record is left that has its name.
        public var recordName: String?
        /// What there is of it now.
        public var state: State

        /// What there is of a record whose newest state is lost.
        public enum State: String, Hashable, Sendable {
            /// Nothing.
            case missing
            /// The version before.
            case earlier
            /// Nothing, and nothing should be: what was lost is its deletion, which was made again.
            case deleted
        }
    }

    /// A zone whose own entry is lost.
    public struct RenamedZone: Hashable, Sendable {
        /// The user record name of the user whose it is now.
        public var owner: String
        /// The name that it has now: `lost-` and its number.
        public var zoneName: String
        /// Whether it is known whose it was. If not, it is the user `lost-found` who has it.
        public var isOwnerKnown: Bool
    }

    /// 32 hexadecimal digits.
    public var storeID: String
    /// Where the journal ended that was salvaged, as an offset.
    public var offset: UInt64
    /// How many zones came out.
    public var zoneCount: Int
    /// How many records are in them.
    public var recordCount: Int
    /// How many entries of the journal were whole.
    public var entryCount: Int
    /// What is wrong with the store, as ``StoreError/Place``: what a verification finds as well.
    public var damage: [StoreError.Place]
    /// Blocks of 4,096 bytes that the medium did not give back, each with the file and the byte where it
    /// begins. What was lost with them is in ``losses`` and ``assets``, except for what lay in the last
    /// blocks of the journal: nothing tells that from a journal that ended there.
    public var unreadable: [StoreError.Place]
    /// In the order of the journal.
    public var losses: [Loss]
    /// Entries that are whole and have no meaning without what is lost, and were left out.
    public var leftOut: [StoreError.Place]
    /// Assets that came out in part or not at all, each with its record and field.
    public var assets: [StoreError.Place]
    /// How many chunks of assets cannot be read, named by a record or not.
    public var unreadableChunkCount: Int
    /// Zones whose names are lost.
    public var zones: [RenamedZone]
    /// User record names of users whose own entry is lost. A host that gives their names is not led to
    /// them where the index did not know them either.
    public var users: [String]
    /// Names that stand for lost names of types and fields.
    public var inventedNames: [String]

    /// Whether all that the store held came out.
    public var isComplete: Bool {
        losses.allSatisfy(\.isHarmless) && leftOut.isEmpty && assets.isEmpty && zones.isEmpty
            && users.isEmpty && inventedNames.isEmpty && unreadable.isEmpty
    }
}
