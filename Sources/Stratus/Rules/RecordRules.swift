internal import StratusEngine

/// Validators and triggers of the host: Swift functions that run while a commit is prepared.
///
///     var rules = RecordRules()
///     rules.validate("Invoice", named: "total") { change, _ throws(RuleRefusal) in
///         guard let new = change.new, (new["total"]?.int64Value ?? 0) < 0 else { return }
///         throw RuleRefusal(domain: "billing", code: 1, description: "a total is not negative")
///     }
///     let container = try await Container.open(at: path, rules: rules)
///
/// The functions are pure: all they know is the change and what their reader tells, and all they do
/// is to return or to throw. They run synchronously, perhaps more than once for one commit, and
/// sometimes on the thread that commits for all callers: they are short, wait for nothing, and call
/// nothing of the container. Rules: `Formats/README.md`, "Validators and triggers".
public struct RecordRules: Sendable {
    /// Returns where a change may be made, or throws why not.
    public typealias Validator =
        @Sendable (RuleChange, RuleReader) throws(RuleRefusal) -> Void
    /// Returns what is to be written with a change, or throws why it may not be made.
    public typealias Trigger =
        @Sendable (RuleChange, RuleReader) throws(RuleRefusal) -> [RuleEffect]

    struct NamedValidator: Sendable {
        let name: String
        let body: Validator
    }

    struct NamedTrigger: Sendable {
        let name: String
        let body: Trigger
    }

    /// In the order in which they were registered, which is the order in which they run.
    struct OfType: Sendable {
        var validators: [NamedValidator] = []
        var triggers: [NamedTrigger] = []
    }

    private(set) var types: [String: OfType] = [:]
    /// Why the rules cannot be used, which the opening says.
    private(set) var problem: StoreError?

    /// No rules.
    public static let none = RecordRules()

    /// No rules yet.
    public init() {}

    /// Asks `body` about each record of a type that a commit creates, changes or deletes: once for
    /// each, with the record as it is before the commit and after it.
    ///
    /// - Parameters:
    ///   - type: any type but that of shares.
    ///   - name: tells the validator in errors: 1 to 255 bytes, once for each type.
    public mutating func validate(
        _ type: String, named name: String, _ body: @escaping Validator
    ) {
        check(type, name, isTaken: types[type]?.validators.contains { $0.name == name })
        types[type, default: OfType()].validators.append(NamedValidator(name: name, body: body))
    }

    /// Lets `body` add saves and deletions to each commit that creates, changes or deletes a record
    /// of a type. It runs for what other triggers write, too, and again where they change the same
    /// record once more.
    ///
    /// - Parameters:
    ///   - type: any type but that of shares.
    ///   - name: tells the trigger in errors: 1 to 255 bytes, once for each type.
    public mutating func trigger(
        _ type: String, named name: String, _ body: @escaping Trigger
    ) {
        check(type, name, isTaken: types[type]?.triggers.contains { $0.name == name })
        types[type, default: OfType()].triggers.append(NamedTrigger(name: name, body: body))
    }

    private mutating func check(_ type: String, _ name: String, isTaken: Bool?) {
        guard problem == nil else { return }
        if !NameRules.isTypeName(type) {
            problem = StoreError(
                .invalidArguments,
                "expected a rule for a record type other than that of shares, found \"\(type)\"")
        } else if !NameRules.isTargetName(name) {
            problem = StoreError(.invalidArguments, "the name of a rule has 1 to 255 bytes")
        } else if isTaken == true {
            problem = StoreError(
                .invalidArguments, "two rules for the type \(type) have the name \"\(name)\"")
        }
    }

    /// Whether there are any for a type.
    func concern(_ type: String) -> Bool { types[type] != nil }

    /// Nil where there are none, so that nothing has to be asked.
    ///
    /// - Throws: why they cannot be used.
    func checked() throws(StoreError) -> RecordRules? {
        if let problem { throw problem }
        return types.isEmpty ? nil : self
    }
}

/// What a commit does to a record.
public struct RuleChange: Sendable {
    /// Whether the record is there before and after.
    public enum Kind: String, Hashable, Sendable {
        /// It was not there.
        case creation
        /// It was there, and stays.
        case update
        /// It was there, and goes: by itself, or along with another record.
        case deletion
    }

    /// The record's identity.
    public let recordID: Record.ID
    /// The record's type.
    public let recordType: String
    /// The record before the change; nil where it is new. A validator gets it as it is in the
    /// store, a trigger as it got it the last time in this commit.
    public let old: Record?
    /// The record with the change; nil where it is deleted. A record that is new has no tag and no
    /// dates yet, and one that changes has its former ones.
    public let new: Record?
    /// The user whose name the commit bears.
    public let userRecordID: Record.ID

    /// Whether the record is there before and after.
    public var kind: Kind {
        if old == nil { return .creation }
        return new == nil ? .deletion : .update
    }

    /// The fields that are not equal in both records, sorted.
    public var changedKeys: [String] {
        Set(old?.allKeys ?? []).union(new?.allKeys ?? []).filter { old?[$0] != new?[$0] }.sorted()
    }
}

/// What a trigger adds to a commit.
public enum RuleEffect: Sendable {
    /// Saves a record of the same zone. Where the commit saves it already, its edits are added to
    /// that save, whatever the tags are.
    case save(Record, SavePolicy = .ifServerRecordUnchanged)
    /// Deletes a record of the same zone. That it is not there is no error.
    case delete(Record.ID)
}

/// Why a rule of the host refuses a change: ``StoreError/cause`` of an error of the code
/// `serverRejectedRequest`.
public struct RuleRefusal: Error, Hashable, Sendable {
    /// Whose codes they are: a name of the host's own.
    public var domain: String
    /// A number of the host's own.
    public var code: Int
    /// For a reader.
    public var description: String

    /// A refusal.
    public init(domain: String, code: Int, description: String) {
        self.domain = domain
        self.code = code
        self.description = description
    }
}
