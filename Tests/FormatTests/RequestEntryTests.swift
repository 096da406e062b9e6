import Stratus
import StratusBytes
import StratusEngine
import StratusJournal
import Support
import Testing

/// The entries of long-lived requests and their states: `Formats/Record.md`.
@Suite struct RequestEntryTests {
    private static func bytes(_ write: (inout ByteWriter) -> Void) -> [UInt8] {
        var writer = ByteWriter()
        write(&writer)
        return writer.bytes
    }

    private static func request(_ bytes: [UInt8]) -> Result<RequestEntry, FormatError> {
        do throws(FormatError) {
            return .success(try RequestEntry(bytes.span))
        } catch {
            return .failure(error)
        }
    }

    private static func state(_ bytes: [UInt8]) -> Result<RequestStateEntry, FormatError> {
        do throws(FormatError) {
            return .success(try RequestStateEntry(bytes.span))
        } catch {
            return .failure(error)
        }
    }

    /// A request of the kind with that number.
    private static func random(_ kind: Int, _ generator: inout SeededGenerator) -> RequestEntry {
        func text(_ generator: inout SeededGenerator) -> String {
            String(repeating: ["a", "æ", "x"][generator.below(3)], count: generator.below(20))
        }
        func texts(_ generator: inout SeededGenerator) -> [String]? {
            if generator.oneIn(2) { return nil }
            return (0..<generator.below(4)).map { _ in text(&generator) }
        }
        func blob(_ generator: inout SeededGenerator) -> [UInt8]? {
            if generator.oneIn(2) { return nil }
            return (0..<generator.below(60)).map { _ in UInt8(generator.below(256)) }
        }
        func zone(_ generator: inout SeededGenerator) -> RequestBody.Zone {
            RequestBody.Zone(name: text(&generator), owner: text(&generator))
        }
        func names(_ generator: inout SeededGenerator) -> [RequestBody.Name] {
            (0..<generator.below(4)).map { _ in
                RequestBody.Name(zone: zone(&generator), record: text(&generator))
            }
        }
        func fields(_ generator: inout SeededGenerator) -> [RequestBody.Field] {
            (0..<generator.below(5)).map { number in
                let isStored = generator.oneIn(3)
                let contents: [RequestBody.Field.Content] = [
                    .value(FieldKind(.string), Array(text(&generator).utf8)),
                    .value(FieldKind(.double), [0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
                    .value(FieldKind(.int64, isList: true), [2, 1, 2, 2, 0x80, 1]),
                    .value(.emptyList, [0]),
                    isStored ? .value(FieldKind(.bytes), []) : .removed,
                ]
                return RequestBody.Field(
                    name: "field\(number)", contents[generator.below(contents.count)],
                    isEncrypted: generator.oneIn(3), isStored: isStored)
            }
        }
        func item(_ generator: inout SeededGenerator) -> RequestBody.Item {
            let name = RequestBody.Name(zone: zone(&generator), record: text(&generator))
            if generator.oneIn(3) {
                return .delete(
                    RequestBody.Delete(
                        name: name, tag: generator.oneIn(2) ? text(&generator) : nil,
                        recordType: generator.oneIn(2) ? text(&generator) : nil))
            }
            let parents: [RequestBody.Parent] = [
                .unknown, .removed, .set(text(&generator), 0), .stored(text(&generator), 2),
            ]
            return .save(
                RequestBody.Save(
                    name: name, policy: UInt8(generator.below(3)), replaces: generator.oneIn(2),
                    isCreation: generator.oneIn(2), recordType: text(&generator),
                    version: generator.oneIn(2) ? generator.next() : nil,
                    parent: parents[generator.below(4)], fields: fields(&generator),
                    share: generator.oneIn(3) ? share(&generator) : nil))
        }
        func share(_ generator: inout SeededGenerator) -> RequestBody.ShareEdit {
            let name = RequestBody.Name(zone: zone(&generator), record: text(&generator))
            let creations: [RequestBody.ShareEdit.Creation?] = [
                nil, .root(name, isTouched: generator.oneIn(2)), .zone,
            ]
            let participants = (0..<generator.below(3)).map { number in
                RequestBody.ShareEdit.Participant(
                    id: Hash128(high: generator.next(), low: 3),
                    role: UInt8(1 + generator.below(4)),
                    permission: UInt8(1 + generator.below(3)),
                    user: generator.oneIn(2) ? text(&generator) : nil,
                    lookupKind: UInt8(generator.below(4)), lookup: text(&generator))
            }
            return RequestBody.ShareEdit(
                creation: creations[generator.below(3)],
                publicPermission: generator.oneIn(2) ? UInt8(1 + generator.below(3)) : nil,
                participants: generator.oneIn(2) ? participants : nil)
        }
        func subscription(_ generator: inout SeededGenerator) -> RequestBody.Subscription {
            let type = generator.oneIn(2) ? text(&generator) : nil
            let kinds: [RequestBody.Subscription.Kind] = [
                .query(
                    recordType: text(&generator), predicate: text(&generator),
                    zone: generator.oneIn(2) ? zone(&generator) : nil,
                    options: UInt8(generator.below(256))),
                .zone(zone(&generator), recordType: type), .database(recordType: type),
            ]
            var info = SubscriptionInfo()
            info.alertBody = text(&generator)
            info.desiredKeys = generator.oneIn(2) ? ["n"] : nil
            info.shouldBadge = generator.oneIn(2)
            return RequestBody.Subscription(
                id: text(&generator), kind: kinds[generator.below(3)],
                info: generator.oneIn(2) ? info : nil)
        }
        let call: RequestBody.Call
        switch kind {
        case 0:
            call = .modify(
                RequestBody.Modification(
                    items: (0..<generator.below(5)).map { _ in item(&generator) },
                    policy: UInt8(generator.below(3)), isAtomic: generator.oneIn(2),
                    clientToken: blob(&generator), answerKeys: texts(&generator)))
        case 1: call = .move(names(&generator), to: zone(&generator))
        case 2: call = .records(names(&generator), desiredKeys: texts(&generator))
        case 3:
            call = .query(
                RequestBody.Query(
                    recordType: text(&generator), predicate: text(&generator),
                    sorts: (0..<generator.below(3)).map { _ in
                        RequestBody.Sort(
                            key: text(&generator), isAscending: generator.oneIn(2),
                            location: generator.oneIn(2) ? Array(repeating: 1, count: 64) : nil)
                    },
                    zone: generator.oneIn(2) ? zone(&generator) : nil,
                    desiredKeys: texts(&generator), limit: generator.below(10_001),
                    cursor: blob(&generator)))
        case 4:
            call = .zoneChanges(
                (0..<generator.below(3)).map { _ in
                    RequestBody.ZoneChanges(
                        zone: zone(&generator), token: blob(&generator), point: blob(&generator),
                        desiredKeys: texts(&generator), types: texts(&generator),
                        limit: generator.below(10_001), isReversed: generator.oneIn(2),
                        numbersAsStrings: generator.oneIn(2))
                })
        case 5:
            call = .databaseChanges(token: blob(&generator), limit: generator.below(10_001))
        case 6:
            let actions: [RequestBody.ZoneItem.Action] = [.save, .delete, .purge]
            call = .zones(
                (0..<generator.below(4)).map { _ in
                    RequestBody.ZoneItem(actions[generator.below(3)], zone(&generator))
                })
        default:
            call = .subscriptions(
                (0..<generator.below(4)).map { _ in
                    generator.oneIn(3)
                        ? .delete(text(&generator))
                        : .save(subscription(&generator), isUpdate: generator.oneIn(2))
                })
        }
        let body = RequestBody(
            call, numbersAsStrings: generator.oneIn(2),
            moment: kind == 3 || kind == 7 ? -5 : 0)
        return RequestEntry(
            caller: UserID(bits: Hash128(high: generator.next(), low: 1)),
            id: "o" + text(&generator), scope: generator.oneIn(2) ? .private : .shared,
            priority: .high, hostName: text(&generator), device: text(&generator),
            point: body.isChange ? .zero : JournalOffset(rawValue: 77), body: body)
    }

    @Test(arguments: 0..<8)
    func `a request is read as it was written, and every byte of it is needed`(kind: Int) {
        var generator = SeededGenerator(seed: UInt64(kind))
        for _ in 0..<100 {
            let entry = Self.random(kind, &generator)
            let bytes = Self.bytes { entry.write(to: &$0) }
            #expect(Self.request(bytes) == .success(entry))
            for count in 0..<bytes.count {
                guard case .success(let part) = Self.request(Array(bytes.prefix(count))) else {
                    continue
                }
                Issue.record("\(count) of \(bytes.count) bytes are \(part)")
            }
        }
    }

    @Test(arguments: 0..<8)
    func `whatever the bytes say, they are refused or are a request`(kind: Int) {
        var generator = SeededGenerator(seed: 100 + UInt64(kind))
        var readCount = 0
        for _ in 0..<2_000 {
            let entry = Self.random(kind, &generator)
            var bytes = Self.bytes { entry.write(to: &$0) }
            for _ in 0...generator.below(3) {
                bytes[generator.below(bytes.count)] = UInt8(generator.below(256))
            }
            guard case .success(let changed) = Self.request(bytes) else { continue }
            readCount += 1
            let again = Self.bytes { changed.write(to: &$0) }
            #expect(Self.request(again) == .success(changed))
        }
        // The test means something only where some of them were read.
        #expect(readCount > 0)
    }

    @Test(arguments: [0, 6, 7])
    func `the order of the items of a change does not count`(kind: Int) {
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<50 {
            var body = Self.random(kind, &generator).body
            let before = body.comparable
            // The same in another order, and with an item more.
            let (reversed, longer): (RequestBody.Call, RequestBody.Call)
            switch body.call {
            case .modify(var modification):
                modification.items.reverse()
                reversed = .modify(modification)
                modification.isAtomic.toggle()
                longer = .modify(modification)
            case .zones(let items):
                reversed = .zones(items.reversed())
                let zone = RequestBody.Zone(name: "more", owner: "")
                longer = .zones(items + [RequestBody.ZoneItem(.save, zone)])
            case .subscriptions(let items):
                reversed = .subscriptions(items.reversed())
                longer = .subscriptions(items + [.delete("more")])
            default: continue
            }
            body.call = reversed
            #expect(body.comparable == before)
            body.call = longer
            #expect(body.comparable != before)
        }
    }

    private static let states: [RequestStateEntry.State] = [
        .finished([]), .delivered, .cancelled,
        .finished([RequestStateEntry.Failure(start: 0, count: 0, code: 26, reason: "no zone")]),
        .finished([
            RequestStateEntry.Failure(start: 1, count: 2, code: 26, reason: "no zone"),
            RequestStateEntry.Failure(start: 3, count: 1, code: 14, reason: "æ"),
        ]),
    ]

    @Test(arguments: states.indices)
    func `a state is read as it was written, and every byte of it is needed`(index: Int) {
        let entry = RequestStateEntry(
            caller: Hash128(high: 1, low: 2), id: "one", request: JournalOffset(rawValue: 300),
            submitted: 1_767_225_600_000_000, state: Self.states[index])
        let bytes = Self.bytes { entry.write(to: &$0) }
        #expect(Self.state(bytes) == .success(entry))
        for count in 0..<bytes.count {
            guard case .success(let part) = Self.state(Array(bytes.prefix(count))) else { continue }
            Issue.record("\(count) of \(bytes.count) bytes are \(part)")
        }
    }

    @Test func `failures that overlap, or of a whole call beside others, are refused`() {
        let lists: [[RequestStateEntry.Failure]] = [
            [
                RequestStateEntry.Failure(start: 2, count: 2, code: 1, reason: ""),
                RequestStateEntry.Failure(start: 3, count: 1, code: 1, reason: ""),
            ],
            [
                RequestStateEntry.Failure(start: 0, count: 0, code: 1, reason: ""),
                RequestStateEntry.Failure(start: 3, count: 1, code: 1, reason: ""),
            ],
            [RequestStateEntry.Failure(start: 1, count: 0, code: 1, reason: "")],
        ]
        for failures in lists {
            let entry = RequestStateEntry(
                caller: Hash128(high: 1, low: 2), id: "one",
                request: JournalOffset(rawValue: 300), submitted: -1, state: .finished(failures))
            let bytes = Self.bytes { entry.write(to: &$0) }
            #expect(Self.state(bytes) == .failure(.value("item")))
        }
    }
}
