internal import StratusLanguage

/// Which records of one type are asked for, and in which order.
///
/// Rules: `Formats/Query.md` (after CloudKit's queries).
public struct Query: Hashable, Sendable {
    /// A field that records are sorted by.
    public struct SortDescriptor: Hashable, Sendable {
        /// The field: one of the record's own, or a system field such as `creationDate`.
        public var key: String
        /// Whether small values come before large ones, and missing ones before all.
        public var ascending: Bool
        /// Sorts places by their distance from here, the nearest first.
        public var relativeLocation: Location?

        /// By the values of a field: numbers, dates, or strings whose case does not count.
        public init(key: String, ascending: Bool = true) {
            self.key = key
            self.ascending = ascending
        }

        /// By the distance of the places in a field from `relativeLocation`.
        public init(key: String, relativeLocation: Location) {
            self.key = key
            self.relativeLocation = relativeLocation
            ascending = true
        }
    }

    /// The most fields that records are sorted by.
    public static let sortDescriptorLimit = 8

    /// The type of the records.
    public var recordType: String
    /// What they must satisfy.
    public var predicate: Predicate
    /// The order, the first descriptor before the others; what it leaves open is the store's own
    /// order, which stays the same.
    public var sortDescriptors: [SortDescriptor]

    /// The records of a type that satisfy a predicate.
    public init(
        recordType: String, predicate: Predicate = .all, sortDescriptors: [SortDescriptor] = []
    ) {
        self.recordType = recordType
        self.predicate = predicate
        self.sortDescriptors = sortDescriptors
    }
}

extension Query {
    /// The fields of records that it names, without those that every record has.
    package var ownFields: [String] {
        (predicate.tree.fields.map(\.name) + sortDescriptors.map(\.key)).filter {
            !SystemField.isName(SystemField.canonicalName($0) ?? $0)
        }
    }
}

extension Query {
    /// A condition on a record, made of a text or of typed fields:
    ///
    ///     try Query.Predicate("berths > 4 AND name BEGINSWITH %@", "S")
    ///     Query.Predicate { $0.berths > 4 && $0.name.hasPrefix("S") }
    ///
    /// Of a field that a record does not have nothing holds, neither a comparison nor its negation;
    /// only the test for a missing field does. Strings are equal, less or greater without regard to
    /// case.
    public struct Predicate: Hashable, Sendable, CustomStringConvertible {
        let tree: RecordPredicate

        init(_ tree: RecordPredicate) { self.tree = tree }

        /// Every record.
        public static let all = Predicate(.constant(true))
        /// No record.
        public static let none = Predicate(.constant(false))

        /// The text of the predicate, which reads as the same predicate.
        public var description: String { tree.description }

        /// Where both hold.
        public static func && (left: Predicate, right: Predicate) -> Predicate {
            Predicate(.and([left.tree, right.tree]))
        }

        /// Where one of them holds.
        public static func || (left: Predicate, right: Predicate) -> Predicate {
            Predicate(.or([left.tree, right.tree]))
        }

        /// Where it does not hold, and could: not where the field is missing.
        public static prefix func ! (predicate: Predicate) -> Predicate {
            Predicate(.not(predicate.tree))
        }
    }
}
