import Stratus
import Testing

/// A store in a situation, in which questions are asked by doing what they ask for.
///
/// Each question that changes anything has a record of its own, so that no answer depends on
/// others; what ends the share, or a part in it, comes last.
struct PermissionWorld {
    private let situation: PermissionSituation
    private let fixture: SharingFixture
    /// The share's record, or that of the one that has ended.
    private let shareID: Record.ID
    /// Its tag.
    private let shareTag: String?
    /// What each caller finds, before anything is changed.
    private var shown: [PermissionCell.Caller: Shown] = [:]

    private struct Shown {
        var list: Result<Set<String>, StoreError>
        var query: Result<Set<String>, StoreError>
        var feed: Result<Set<String>, StoreError>
    }

    private typealias Cell = PermissionCell

    init(_ situation: PermissionSituation) async throws {
        self.situation = situation
        fixture = try await SharingFixture()
        try await Self.save(situation, fixture)
        var share = try await Self.share(situation, fixture)
        if situation.kind == .hierarchy {
            let beside = try await fixture.share(
                "beside-root", with: situation.hasOtherShare ? ["bob"] : [])
            if situation.hasOtherShare { try await fixture.accept(beside, ["bob"]) }
            let other = try await fixture.share("other-root", with: ["dave"])
            try await fixture.accept(other, ["dave"])
        }
        share = try await Self.advance(situation, fixture, share)
        shareID = share.recordID
        shareTag = share.record.recordChangeTag
        for caller in Cell.Caller.allCases { shown[caller] = await find(caller) }
    }

    private static let ordinary: [Cell.Position] = [
        .child, .grandchild, .beside, .other, .outside,
    ]
    private static let changing: [Cell.Action] = [
        .saveByTag, .saveChangedKeys, .saveAllKeys, .delete, .createBelow, .moveOut, .moveToRoot,
    ]

    private static func save(
        _ situation: PermissionSituation, _ fixture: SharingFixture
    ) async throws {
        var records = [note("root"), child("inner", of: "root")]
        if situation.kind == .hierarchy { records += [note("beside-root"), note("other-root")] }
        for position in ordinary {
            let parent: String? =
                switch position {
                case .child: "root"
                case .grandchild: "inner"
                case .beside: "beside-root"
                case .other: "other-root"
                default: nil
                }
            if situation.kind == .zone, position == .beside || position == .other { continue }
            var names = ["\(position)"]
            for caller in Cell.Caller.allCases {
                names += changing.map {
                    name(Cell(caller: caller, position: position, action: $0))
                }
            }
            for name in names {
                var record = note(name, ["n": 0])
                if let parent { record.parent = Reference(recordID: noteID(parent)) }
                records.append(record)
            }
        }
        try await fixture.alice.saveAll(records)
    }

    /// The record that a question is about.
    private static func name(_ cell: PermissionCell) -> String {
        switch cell.position {
        case .root: "root"
        case .child, .grandchild, .beside, .other, .outside, .missing, .nowhere, .share:
            changing.contains(cell.action)
                ? "\(cell.position)-\(cell.caller)-\(cell.action)" : "\(cell.position)"
        }
    }

    private static func share(
        _ situation: PermissionSituation, _ fixture: SharingFixture
    ) async throws -> Share {
        let isPublic = situation.role == .publicUser
        var share: Share
        var records: [Record] = []
        switch situation.kind {
        case .hierarchy:
            records = [try await fixture.alice.record(for: noteID("root"))]
            share = Share(rootRecord: records[0])
        case .zone: share = Share(recordZoneID: notes)
        }
        if isPublic {
            share.publicPermission = situation.permission
        } else if situation.standing != .notInvited {
            try share.addParticipant(
                fixture.participant("bob", situation.permission, role: situation.role))
        }
        return try await fixture.save(share, with: records)
    }

    /// Lets bob get as far as the situation says. Returns the share as it is then.
    private static func advance(
        _ situation: PermissionSituation, _ fixture: SharingFixture, _ share: Share
    ) async throws -> Share {
        if situation.standing != .notInvited, situation.standing != .pending {
            try await fixture.accept(share, ["bob"])
        }
        switch situation.standing {
        case .notInvited, .pending, .accepted: break
        case .removed:
            if situation.role == .publicUser {
                try await fixture.edit(share) { $0.publicPermission = .none }
            } else {
                try await fixture.remove("bob", from: share)
            }
        case .left: try await fixture.bob.deleteRecord(withID: fixture.id(of: share))
        case .ended:
            let last = try await fixture.stored(share)
            try await fixture.end(share)
            return last
        case .endedAndSharedAgain:
            try await fixture.end(share)
            if situation.kind == .hierarchy { return try await fixture.share("root") }
            return try await fixture.save(Share(recordZoneID: notes))
        }
        return try await fixture.stored(share)
    }
}

// What a caller finds.
extension PermissionWorld {
    private func database(_ caller: PermissionCell.Caller) -> Database {
        caller.isPrivate
            ? fixture.container.privateDatabase(for: caller.user)
            : fixture.container.sharedDatabase(for: caller.user)
    }

    /// The zone as the caller names it.
    private func zone(_ caller: PermissionCell.Caller) -> RecordZone.ID {
        caller == .ownerPrivate ? notes : fixture.zone
    }

    private func id(_ cell: PermissionCell) -> Record.ID {
        let name =
            cell.position == .share ? shareID.recordName : Self.name(cell)
        return Record.ID(recordName: name, zoneID: zone(cell.caller))
    }

    private func find(_ caller: PermissionCell.Caller) async -> Shown {
        let database = database(caller)
        let zone = zone(caller)
        let query = Query(recordType: "Note")
        return Shown(
            list: await names { try await database.allRecords(in: zone, resultsLimit: 100) },
            query: await names { try await database.allRecords(matching: query, in: zone) },
            feed: await names {
                try await FollowedChanges(of: database, in: zone, resultsLimit: 100).modified
            })
    }

    private func names(
        _ body: () async throws -> [Record]
    ) async -> Result<Set<String>, StoreError> {
        do {
            return .success(Set(try await body().map { $0.recordID.recordName }))
        } catch let error as StoreError {
            return .failure(error)
        } catch {
            return .failure(StoreError(.internalError, "\(error)"))
        }
    }
}

// Questions.
extension PermissionWorld {
    /// Asks all questions. Returns what is not as the table says.
    func problems() async throws -> [String] {
        var problems: [String] = []
        let cells = situation.cells
        // Leaving and ending come last, and the end of the share after all.
        let last = cells.filter { $0.action == .delete && $0.position == .share }
        let ordered =
            cells.filter { !last.contains($0) } + last.filter { $0.caller != .ownerPrivate }
            + last.filter { $0.caller == .ownerPrivate }
        for cell in ordered {
            let answer = try await answer(cell)
            let expected = situation.expected(cell)
            if !expected.contains(answer) {
                problems.append("\(cell): \(answer), not \(expected)")
            }
        }
        return problems
    }

    private func answer(_ cell: PermissionCell) async throws -> PermissionAnswer {
        let database = database(cell.caller)
        let id = id(cell)
        switch cell.action {
        case .fetch: return try await outcome { _ = try await database.record(for: id) }
        case .fetchMany:
            return try await outcome {
                _ = try await database.records(for: [id])[id]?.get()
            }
        case .list: return try found(shown[cell.caller]?.list, id)
        case .query: return try found(shown[cell.caller]?.query, id)
        case .feed: return try found(shown[cell.caller]?.feed, id)
        case .saveByTag: return try await save(cell, .ifServerRecordUnchanged)
        case .saveChangedKeys: return try await save(cell, .changedKeys)
        case .saveAllKeys: return try await save(cell, .allKeys)
        case .delete: return try await delete(cell)
        case .createBelow: return try await create(cell)
        case .moveOut: return try await move(cell, under: nil)
        case .moveToRoot: return try await move(cell, under: "root")
        }
    }

    private func found(
        _ names: Result<Set<String>, StoreError>?, _ id: Record.ID
    ) throws -> PermissionAnswer {
        switch try #require(names) {
        case .success(let names): names.contains(id.recordName) ? .yes : .no
        case .failure(let error): .fails(error.code)
        }
    }

    private func outcome(_ body: () async throws -> Void) async throws -> PermissionAnswer {
        do {
            try await body()
            return .yes
        } catch let error as StoreError {
            #expect(error.code != .internalError, "\(error)")
            return .fails(error.code)
        }
    }

    /// The record as its owner has it; nil where it is not there.
    private func stored(_ name: String) async throws -> Record? {
        do throws(StoreError) {
            return try await fixture.alice.record(for: noteID(name))
        } catch {
            guard error.code == .unknownItem else { throw error }
            return nil
        }
    }

    /// The record as the caller has it, or would guess it.
    private func held(_ cell: PermissionCell) async throws -> Record {
        let id = id(cell)
        if let record = try? await database(cell.caller).record(for: id) { return record }
        let tag =
            cell.position == .share
            ? shareTag : try await stored(id.recordName)?.recordChangeTag
        return Record(
            recordType: cell.position == .share ? Record.shareType : "Note", recordID: id,
            recordChangeTag: tag ?? "8")
    }

    private func save(
        _ cell: PermissionCell, _ policy: SavePolicy
    ) async throws -> PermissionAnswer {
        var record = try await held(cell)
        let key = cell.position == .share ? "cloudkit.title" : "text"
        let value = RecordValue.string("\(cell)")
        record[key] = value
        let before = try await stored(record.recordID.recordName)
        let edited = record
        let answer = try await outcome {
            try await database(cell.caller).save(edited, savePolicy: policy)
        }
        let after = try await stored(record.recordID.recordName)
        #expect(answer == .yes ? after?[key] == value : after == before, "\(cell)")
        return answer
    }

    private func delete(_ cell: PermissionCell) async throws -> PermissionAnswer {
        let id = id(cell)
        let root = noteID("root", in: zone(cell.caller))
        let seesRoot = try? await database(cell.caller).record(for: root)
        let before = try await stored(id.recordName)
        let answer = try await outcome {
            try await database(cell.caller).deleteRecord(withID: id)
        }
        let after = try await stored(id.recordName)
        if answer != .yes {
            #expect(after == before, "\(cell)")
            return answer
        }
        if cell.position == .share, cell.caller != .ownerPrivate {
            // The share stays; the caller has left it.
            #expect((after == nil) == (before == nil), "\(cell)")
            let now = await failure { try await database(cell.caller).record(for: root) }
            #expect(now.code == .zoneNotFound || now.code == .unknownItem, "\(cell)")
            return seesRoot == nil ? .no : .yes
        }
        return before != nil && after == nil ? .yes : .no
    }

    private func create(_ cell: PermissionCell) async throws -> PermissionAnswer {
        let zone = zone(cell.caller)
        let name = "new-\(Self.name(cell))-\(cell.position)-\(cell.caller)"
        var record = note(name, ["n": 1], in: zone)
        if cell.position != .nowhere { record.parent = Reference(recordID: id(cell)) }
        let new = record
        let answer = try await outcome { try await database(cell.caller).save(new) }
        let isThere = try await stored(name) != nil
        #expect(isThere == (answer == .yes), "\(cell)")
        return answer
    }

    private func move(
        _ cell: PermissionCell, under parent: String?
    ) async throws -> PermissionAnswer {
        var record = try await held(cell)
        let before = try await stored(record.recordID.recordName)
        record.parent = parent.map {
            Reference(recordID: noteID($0, in: zone(cell.caller)))
        }
        let edited = record
        let answer = try await outcome { try await database(cell.caller).save(edited) }
        let after = try await stored(record.recordID.recordName)
        let parentNow = after?.parent?.recordID.recordName
        #expect(answer == .yes ? parentNow == parent : after == before, "\(cell)")
        return answer
    }

    /// What operators are told of a caller, where it is not what the table says.
    func problemsOfDecisions() async throws -> [String] {
        var problems: [String] = []
        let positions: [PermissionCell.Position] =
            [.root, .child, .grandchild, .outside]
            + (situation.kind == .hierarchy ? [.beside, .other] : [])
            + (situation.standing == .ended ? [] : [.share])
        let callers: [PermissionCell.Caller] = [
            .ownerPrivate, .memberShared, .otherShared, .strangerShared,
        ]
        for caller in callers {
            if situation.kind == .zone, caller == .otherShared { continue }
            for position in positions {
                let id = id(Cell(caller: .ownerPrivate, position: position, action: .fetch))
                for action in AccessAction.allCases {
                    let decision = try await fixture.container.access(
                        of: caller.user, to: action, on: id, in: .private(owner: "alice"))
                    let expected = situation.isAllowed(action, caller, position)
                    if decision.isAllowed != expected {
                        problems.append(
                            "\(caller) \(action) \(position): \(decision.rule)"
                                + " \(decision.reason ?? "")")
                    }
                }
            }
        }
        return problems
    }
}
