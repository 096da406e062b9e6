import FoundationEssentials
import Stratus
import Support
import Synchronization
import Testing

/// A call goes through the same steps whether a task awaits it or a thread waits for it.
@Suite(.timeLimit(.minutes(20))) struct CallOrderTests {
    /// What may be wrong with a call. Those that fail all of it come first, in the order in which
    /// they are looked for.
    enum Fault: CaseIterable, Sendable {
        case anonymous, tooMany, tooLong, twice, emptyOperationID, longToken, longDevice
        case reusedOperationID, foreignZone, missingZone, missingFile, badName, taken

        static let ofWholeCalls: [Fault] = [
            .anonymous, .tooMany, .tooLong, .twice, .emptyOperationID, .longToken, .longDevice,
        ]

        static let pairs = allCases.enumerated().flatMap { index, first in
            allCases.dropFirst(index).map { [first, $0] }
        }
    }

    private struct Call: Sendable {
        var user: String? = "alice"
        var device: String?
        var records = [note("a", ["count": 1]), note("b")]
        var operationID: String?
        var token: Data?

        init(_ faults: [Fault]) {
            for fault in faults { add(fault) }
        }

        private mutating func add(_ fault: Fault) {
            switch fault {
            case .anonymous: user = nil
            case .tooMany: records += (0..<8).map { note("more\($0)") }
            case .tooLong: records[0]["text"] = .string(String(repeating: "x", count: 3000))
            case .twice: records.append(note("b"))
            case .emptyOperationID: operationID = ""
            case .longToken: token = Data(repeating: 1, count: 5000)
            case .longDevice:
                (device, token) = (String(repeating: "d", count: 300), token ?? Data())
            case .reusedOperationID: operationID = "used"
            case .foreignZone: rename { Record.ID(recordName: $0.recordName, zoneID: .bobs) }
            case .missingZone: rename { Record.ID(recordName: $0.recordName, zoneID: .nowhere) }
            case .missingFile: records[0]["file"] = .asset(Asset(file: "/nowhere/at/all"))
            case .badName: rename { Record.ID(recordName: "_" + $0.recordName, zoneID: $0.zoneID) }
            case .taken: rename { Record.ID(recordName: "there", zoneID: $0.zoneID) }
            }
        }

        /// Gives the first record another identity.
        private mutating func rename(_ change: (Record.ID) -> Record.ID) {
            var record = Record(recordType: "Note", recordID: change(records[0].recordID))
            for key in records[0].allKeys { record[key] = records[0][key] }
            records[0] = record
        }
    }

    private enum Form: CaseIterable { case task, thread }

    /// What becomes of a call in a store that has a record, and knows an operation.
    private func outcome(
        of call: Call, _ form: Form, isSingle: Bool
    ) async throws -> String {
        let profile = Profile(itemsPerRequest: 6, bytesPerRequest: 2000)
        let container = try Container.inMemory(profile: profile)
        let alice = container.privateDatabase(for: "alice")
        try await alice.save(RecordZone(zoneID: notes))
        try await alice.save(note("there"), operationID: "used")
        let database =
            call.user.map { container.privateDatabase(for: $0, device: call.device) }
            ?? container.publicDatabase()
        let told = Told()
        switch (form, isSingle) {
        case (.task, true):
            await told.tell {
                let record = try await database.save(
                    call.records[0], operationID: call.operationID)
                return record.recordID.recordName
            }
        case (.task, false):
            await told.tell {
                Self.text(
                    try await database.modifyRecords(
                        saving: call.records, operationID: call.operationID,
                        clientChangeTokenData: call.token))
            }
        case (.thread, true):
            try await onThreads(1) { _ in
                told.tell {
                    try database.saveAndWait(call.records[0], operationID: call.operationID)
                        .recordID.recordName
                }
            }
        case (.thread, false):
            try await onThreads(1) { _ in
                told.tell {
                    Self.text(
                        try database.modifyRecordsAndWait(
                            saving: call.records, operationID: call.operationID,
                            clientChangeTokenData: call.token))
                }
            }
        }
        try await container.close()
        return told.text
    }

    private static func text(_ result: ModifyRecordsResult) -> String {
        result.saveResults.map { id, result in
            switch result {
            case .success: "\(id.zoneID.zoneName)/\(id.recordName): saved"
            case .failure(let error): "\(id.zoneID.zoneName)/\(id.recordName): \(error)"
            }
        }.sorted().joined(separator: "\n")
    }

    @Test(arguments: Fault.pairs)
    func `of two faults a thread is told of the same one as a task`(faults: [Fault]) async throws {
        for isSingle in [true, false] {
            let call = Call(faults)
            let byTask = try await outcome(of: call, .task, isSingle: isSingle)
            let byThread = try await outcome(of: call, .thread, isSingle: isSingle)
            #expect(byTask == byThread)
        }
    }

    @Test(arguments: Fault.allCases)
    func `each of the faults is one`(fault: Fault) async throws {
        let text = try await outcome(of: Call([fault]), .task, isSingle: false)
        #expect(text != "notes/a: saved\nnotes/b: saved")
    }

    @Test func `what concerns the whole call is looked for in one order`() async throws {
        for (index, first) in Fault.ofWholeCalls.enumerated() {
            let alone = try await outcome(of: Call([first]), .task, isSingle: false)
            for second in Fault.ofWholeCalls.dropFirst(index + 1) {
                let both = try await outcome(of: Call([first, second]), .thread, isSingle: false)
                // The numbers of items may differ.
                #expect(both.filter { !$0.isNumber } == alone.filter { !$0.isNumber })
            }
        }
    }
}

/// What a call was told.
private final class Told: Sendable {
    private let content = Mutex("")
    var text: String { content.withLock { $0 } }

    func tell(_ body: () throws -> String) {
        do { set(try body()) } catch { set("failed: \(error)") }
    }

    func tell(_ body: () async throws -> String) async {
        do { set(try await body()) } catch { set("failed: \(error)") }
    }

    private func set(_ text: String) { content.withLock { $0 = text } }
}

extension RecordZone.ID {
    fileprivate static let bobs = RecordZone.ID(zoneName: "notes", ownerName: "bob")
    fileprivate static let nowhere = RecordZone.ID(zoneName: "nowhere")
}
