import FoundationEssentials
import Stratus

/// A reader who follows a zone: what it knows, and how far it has read.
struct ZoneFollower {
    let user: String
    let zone: RecordZone.ID
    private(set) var token: ChangeToken?
    /// By their names, each as ``line(_:)`` says.
    private(set) var records: [String: String] = [:]

    init(_ zone: RecordZone.ID, of user: String) {
        self.zone = zone
        self.user = user
    }

    /// Reads on, a few changes at a time. Returns how many there were.
    @discardableResult
    mutating func read(
        _ container: Container, pages: Int = .max
    ) async throws(StoreError) -> Int {
        let database = container.privateDatabase(for: user)
        var count = 0
        for _ in 0..<pages {
            let changes = try await database.recordZoneChanges(
                inZoneWith: zone, since: token, resultsLimit: 3)
            for record in changes.modifications {
                records[record.recordID.recordName] = Self.line(record)
            }
            for deletion in changes.deletions { records[deletion.recordID.recordName] = nil }
            count += changes.modifications.count + changes.deletions.count
            token = changes.changeToken
            if !changes.moreComing { break }
        }
        return count
    }

    /// All of a record but its users: its tag first.
    static func line(_ record: Record) -> String {
        let parts = [
            record.recordChangeTag ?? "", record.parent?.recordID.recordName ?? "",
            "\(record.creationDate?.timeIntervalSince1970 ?? 0)",
            "\(record.modificationDate?.timeIntervalSince1970 ?? 0)",
            record["text"]?.stringValue ?? "",
            record["file"]?.assetValue?.fileChecksum ?? "",
            record.share?.recordID.recordName ?? "",
        ]
        return parts.joined(separator: " | ")
    }

    /// What a follower of a zone knows who has read all.
    static func lines(
        _ database: DatabaseSnapshot, in zone: RecordZone.ID
    ) throws(StoreError) -> [String: String] {
        var lines: [String: String] = [:]
        var cursor: RecordPage.Cursor?
        repeat {
            let page = try database.records(inZoneWith: zone, from: cursor)
            for record in page.records { lines[record.recordID.recordName] = line(record) }
            cursor = page.cursor
        } while cursor != nil
        return lines
    }
}
