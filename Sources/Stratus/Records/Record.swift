public import FoundationEssentials
internal import StratusBytes
internal import StratusJournal
internal import StratusEngine

/// A record: typed fields under a name, in a zone.
///
/// A value over the bytes it was stored as: reading a field decodes that field alone. Edits lie
/// over those bytes until the record is saved; nothing is sent but what was edited. Copies are
/// independent.
///
/// Rules: `Formats/README.md`, "Records" (after CloudKit's records).
public struct Record: Sendable {
    /// The name of a record and its zone.
    public struct ID: Hashable, Sendable, Codable {
        /// ASCII, 1 to 255 characters, not beginning with `_`.
        public var recordName: String
        /// The zone.
        public var zoneID: RecordZone.ID

        /// The record `recordName` of a zone.
        public init(recordName: String, zoneID: RecordZone.ID = .default) {
            self.recordName = recordName
            self.zoneID = zoneID
        }

        /// By the record name alone, which seldom comes in more than one zone.
        public func hash(into hasher: inout Hasher) { hasher.combine(recordName) }
    }

    /// What the store adds to a saved record.
    struct System: Sendable, Equatable {
        var version: UInt64
        var created: Int64
        var modified: Int64
        var creator: UserID
        var modifier: UserID
    }

    /// What never changes of a value: who the record is, and as what it was stored.
    ///
    /// Shared by all copies, so that a copy of a record costs as good as nothing.
    final class Origin: Sendable {
        let recordID: ID
        let recordType: String
        let system: System?
        /// The version that the caller's edits begin from; nil: none was ever stored.
        let version: UInt64?
        let parent: Reference?
        /// Of the root of a share: the share's record.
        let share: Reference?
        /// Of the record of a share: the share.
        let shareContent: ShareContent?
        let stored: StoredFields
        /// Where the bytes of its assets are read.
        let assets: AssetStore?
        /// To whom it was given, where it has assets: these are read as long as the record may be.
        let reader: AssetAccess?

        init(
            recordID: ID, recordType: String, system: System?, version: UInt64? = nil,
            parent: Reference?, share: Reference? = nil, shareContent: ShareContent? = nil,
            stored: StoredFields, assets: AssetStore?, reader: AssetAccess? = nil
        ) {
            self.reader = reader
            self.share = share
            self.shareContent = shareContent
            self.recordID = recordID
            self.recordType = recordType
            self.system = system
            self.version = system?.version ?? version
            self.parent = parent
            self.stored = stored
            self.assets = assets
        }

        /// The same with another parent, share or fields.
        func with(
            parent: Reference?, _ shareContent: ShareContent?, _ stored: StoredFields,
            reader: AssetAccess? = nil
        ) -> Origin {
            Origin(
                recordID: recordID, recordType: recordType, system: system, version: version,
                parent: parent, share: share, shareContent: shareContent, stored: stored,
                assets: assets, reader: reader ?? self.reader)
        }

        /// What was stored in a field. In one piece with what it calls, so that the value is made
        /// where it is wanted.
        @inline(__always)
        func value(of key: String) -> RecordValue? {
            guard let number = stored.schema.number(key), let field = stored.field(number) else {
                return nil
            }
            return value(of: field, key)
        }

        @inline(__always)
        func value(of field: StoredFields.Field, _ key: String) -> RecordValue {
            let value = stored.value(field, in: recordID.zoneID, assets: assets)
            return field.kind.isAsset
                ? value.mappingAssets { $0.found(in: key, of: recordID, by: reader) } : value
        }
    }

    /// The caller's own parent, over the stored one.
    private indirect enum ParentEdit: Sendable {
        case none
        case parent(Reference?)
    }

    /// What lies over the stored share: few records are shares.
    private final class SharedEdit: Sendable {
        let edit: ShareEdit
        init(_ edit: ShareEdit) { self.edit = edit }
    }

    private let origin: Origin
    private var parentEdit = ParentEdit.none
    private var sharedEdit: SharedEdit?
    /// What lies over the stored fields.
    private(set) var edits = FieldEdits()

    /// A new record with a random name in the default zone, unless an identity is given.
    public init(recordType: String, recordID: ID = ID(recordName: UUID().uuidString)) {
        origin = Origin(
            recordID: recordID, recordType: recordType, system: nil, parent: nil, stored: .none,
            assets: nil)
    }

    /// A record of which no more is known than its change tag, to be edited and saved; without a
    /// tag, that nothing is. A text that never was a tag is one that no record has.
    package init(recordType: String, recordID: ID, recordChangeTag: String?) {
        origin = Origin(
            recordID: recordID, recordType: recordType, system: nil,
            version: recordChangeTag.map { Version(changeTag: $0).rawValue }, parent: nil,
            stored: .none, assets: nil)
    }

    private init(_ origin: Origin) { self.origin = origin }

    /// A record as a long-lived request keeps it: of what was fetched, that which a save may send.
    init(
        recordType: String, recordID: ID, version: UInt64?, storedParent: Reference?,
        stored: StoredFields, assets: AssetStore?
    ) {
        origin = Origin(
            recordID: recordID, recordType: recordType, system: nil, version: version,
            parent: storedParent, stored: stored, assets: assets)
    }

    init(
        recordType: String, recordID: ID, system: System?, parent: Reference?,
        share: Reference? = nil, stored: StoredFields, assets: AssetStore?
    ) {
        origin = Origin(
            recordID: recordID, recordType: recordType, system: system, parent: parent,
            share: share, stored: stored, assets: assets)
    }

    /// The same with what the store holds of the share that it is the record of.
    func holding(_ content: ShareContent) -> Record {
        var record = Record(origin.with(parent: storedParent, content, stored))
        record.parentEdit = parentEdit
        record.sharedEdit = sharedEdit
        record.edits = edits
        return record
    }

    /// The same as a caller gets it: for a participant a root without its parent, which lies outside.
    consuming func shown(to principal: Principal, in scope: DatabaseScope) -> Record {
        let isOthers = if case .shared = scope { true } else { false }
        let reader =
            assets == nil
            ? nil : AssetAccess(principal, scope, type: recordType, creator: system?.creator)
        let hidesParent = isOthers && share != nil
        guard hidesParent || reader != nil else { return self }
        return Record(
            origin.with(
                parent: hidesParent ? nil : storedParent, shareContent, stored, reader: reader))
    }

    /// The record's identity, which never changes.
    public var recordID: ID { origin.recordID }
    /// The kind of record, which never changes.
    public var recordType: String { origin.recordType }

    /// The record above this one in its hierarchy.
    public var parent: Reference? {
        get { if case .parent(let parent) = parentEdit { parent } else { origin.parent } }
        set { parentEdit = .parent(newValue) }
    }

    /// The record of the share of which this one is the root; nil where it is none. A share is made
    /// and ended by saving and deleting its own record: ``Share``.
    public var share: Reference? { origin.share }

    /// What the store holds of the share that this is the record of.
    var shareContent: ShareContent? { origin.shareContent }
    /// What the caller changes of it.
    var shareEdit: ShareEdit? { sharedEdit?.edit }

    mutating func share(_ edit: ShareEdit) {
        sharedEdit = edit == ShareEdit() ? nil : SharedEdit(edit)
    }

    /// Whether the caller said what the parent shall be.
    var changesParent: Bool { if case .parent = parentEdit { true } else { false } }

    var system: System? { origin.system }
    var version: UInt64? { origin.version }
    var stored: StoredFields { origin.stored }
    var assets: AssetStore? { origin.assets }
    var storedParent: Reference? { origin.parent }

    /// The value of a field; nil where there is none. Assigning nil removes the field at the next
    /// save, if it came from the store.
    public subscript(key: String) -> RecordValue? {
        get {
            if let edit = edits.edit(of: key) { return edit.value }
            return origin.value(of: key)
        }
        set { set(key, newValue, isEncrypted: false) }
    }

    mutating func set(_ key: String, _ value: RecordValue?, isEncrypted: Bool) {
        // A field that was never stored and is taken away again was never there.
        if value == nil, version == nil {
            edits.forget(key)
        } else {
            edits.set(key, value, isEncrypted: isEncrypted || isStoredEncrypted(key))
        }
    }

    /// The same with a flag that need not be that of the stored field.
    mutating func replace(_ key: String, by value: RecordValue, isEncrypted: Bool) {
        edits.set(key, value, isEncrypted: isEncrypted)
    }

    /// Whether a field is flagged as encrypted.
    package func isEncrypted(_ key: String) -> Bool {
        edits.edit(of: key)?.isEncrypted ?? isStoredEncrypted(key)
    }

    private func isStoredEncrypted(_ key: String) -> Bool {
        guard stored.hasEncrypted, let number = stored.schema.number(key) else { return false }
        return stored.field(number)?.kind.isEncrypted ?? false
    }

    /// Removes a field at the next save, also where nothing is known of the record.
    package mutating func removeValue(forKey key: String) {
        edits.set(key, nil, isEncrypted: isStoredEncrypted(key))
    }

    /// Leaves the next save to fail with `error`, as for a value that the field cannot hold.
    package mutating func refuse(_ error: StoreError, forKey key: String) {
        self[key] = .asset(Asset(.failed(error)))
    }

    /// The fields that have a value, sorted.
    public var allKeys: [String] {
        var keys = edits.all.compactMap { $0.value == nil ? nil : $0.key }
        stored.forEach { field in
            if let name = stored.schema.name(field.number), edits.edit(of: name) == nil {
                keys.append(name)
            }
            return true
        }
        return keys.sorted()
    }

    /// At least as many as there are fields with a value.
    package var fieldCount: Int { stored.count + edits.all.count }

    /// Gives `body` each field that has a value and is one that is asked for, sorted, and whether it is
    /// flagged as encrypted.
    package func forEachField(
        where isAskedFor: (String) -> Bool, _ body: (String, RecordValue, Bool) -> Void
    ) {
        guard edits.all.isEmpty else {
            for key in allKeys where isAskedFor(key) {
                if let value = self[key] { body(key, value, isEncrypted(key)) }
            }
            return
        }
        var fields: [(name: String, field: StoredFields.Field)] = []
        stored.forEach { field in
            if let name = stored.schema.name(field.number), isAskedFor(name) {
                fields.append((name, field))
            }
            return true
        }
        fields.sort { $0.name < $1.name }
        for (name, field) in fields {
            body(name, origin.value(of: field, name), field.kind.isEncrypted)
        }
    }

    /// The fields that were set or removed since the record was fetched or saved, sorted.
    public var changedKeys: [String] { edits.all.map(\.key).sorted() }

    /// Changes with every save; compared for equality only. Nil until saved.
    ///
    /// The difference of two tags tells their holder about how many bytes all users of the store wrote
    /// in between: `Formats/Token.md`.
    public var recordChangeTag: String? { version.map { String($0) } }
    /// When the record was first saved.
    public var creationDate: Date? { system.map { Date(milliseconds: $0.created) } }
    /// When the record was last saved; rises with every save.
    public var modificationDate: Date? { system.map { Date(milliseconds: $0.modified) } }
    /// Who saved the record first.
    public var creatorUserRecordID: ID? {
        system.map { ID(recordName: $0.creator.recordName) }
    }
    /// Who saved the record last.
    public var lastModifiedUserRecordID: ID? {
        system.map { ID(recordName: $0.modifier.recordName) }
    }

    /// The words of all text fields, cut at white space.
    public var allTokens: [String] {
        allKeys.compactMap { self[$0]?.stringValue }.flatMap { text in
            text.split(whereSeparator: \.isWhitespace).map(String.init)
        }
    }

    /// The same record as it was saved, as far as its caller knows it.
    func saved(as id: ID, _ system: System) -> Record {
        var record = Record(
            Origin(
                recordID: id, recordType: recordType, system: system, parent: parent,
                stored: stored, assets: assets))
        record.edits = edits
        return record
    }

    /// The same record with only `keys` of its stored fields; the others stay in the store.
    consuming func showing(_ keys: [String]?) -> Record {
        guard let keys else { return self }
        var fields = stored
        fields.visible = Set(keys.compactMap { stored.schema.number($0) })
        var record = Record(
            origin.with(parent: storedParent, shareContent, fields))
        record.parentEdit = parentEdit
        record.edits = edits
        return record
    }
}

extension Record: Equatable {
    /// Whether identity, system fields and all values are equal.
    public static func == (left: Record, right: Record) -> Bool {
        left.recordID == right.recordID && left.recordType == right.recordType
            && left.system == right.system && left.version == right.version
            && left.parent == right.parent && left.share == right.share
            && left.shareContent == right.shareContent
            && left.allKeys == right.allKeys
            && left.allKeys.allSatisfy {
                left[$0] == right[$0] && left.isEncrypted($0) == right.isEncrypted($0)
            }
    }
}

extension Date {
    /// From milliseconds since 1970, as the store keeps its own dates.
    init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
