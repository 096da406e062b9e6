import Stratus

/// The copy of a shared database, or of one zone of it, that a reader of its feeds holds.
struct SharingMirror {
    /// What a reader knows of a record.
    struct Seen: Equatable {
        var type: String
        var tag: String?
        var parent: String?
        var value: Int64?

        init(type: String, tag: String?, parent: String?, value: Int64?) {
            self.type = type
            self.tag = tag
            self.parent = parent
            self.value = value
        }

        init(_ record: Record) {
            self.init(
                type: record.recordType, tag: record.recordChangeTag,
                parent: record.parent?.recordID.recordName, value: record["n"]?.int64Value)
        }
    }

    struct Zone {
        var token: ChangeToken?
        /// The number of ends of whole-zone parts and of zones when the token was given.
        var endings = 0
        var records: [String: Seen] = [:]
    }

    let user: String
    /// The one zone that it follows; nil: the feed of the database says which.
    let zone: String?
    /// The most changes of a page.
    var limit: Int
    /// Whether it forgets a zone that it does not find, or keeps what it has until it is back.
    var forgets: Bool
    /// Of the database.
    var token: ChangeToken?
    var zones: [String: Zone] = [:]

    init(of user: String, zone: String?, limit: Int = 1000, forgets: Bool = false) {
        self.user = user
        self.zone = zone
        self.limit = limit
        self.forgets = forgets
    }

    /// In what the records of a zone differ; nil: in nothing.
    func difference(in zone: String, from truth: [String: Seen]) -> String? {
        let held = zones[zone]?.records ?? [:]
        if held == truth { return nil }
        let more = Set(held.keys).subtracting(truth.keys).sorted()
        let less = Set(truth.keys).subtracting(held.keys).sorted()
        let other = held.filter { truth[$0.key] != nil && truth[$0.key] != $0.value }.keys.sorted()
        return "\(user)'s mirror of \(zone) has \(more), lacks \(less), has others of \(other)"
    }
}
