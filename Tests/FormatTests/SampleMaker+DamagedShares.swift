import Stratus
import StratusBytes

// Stores whose last entry, of a share or of a user, breaks a rule of `Formats/Record.md`.
extension SampleMaker {
    static func damagedShares() async throws -> [(String, StoreFiles)] {
        try await LastEntry.stores(LastEntry.ofShares)
    }
}

/// What takes the place of the last entry, encoded by no code of the store.
struct LastEntry {
    var kind: UInt8
    /// That its frame carries.
    var zone: UInt8
    var payload: [UInt8]

    init(_ kind: UInt8, zone: UInt8 = 1, _ write: (inout ByteWriter) -> Void) {
        self.kind = kind
        self.zone = zone
        var writer = ByteWriter()
        write(&writer)
        payload = writer.bytes
    }

    /// Stores that end with one of them each: one zone, one user, no share.
    static func stores(
        _ entries: [(name: String, entry: LastEntry)]
    ) async throws -> [(String, StoreFiles)] {
        var samples: [(String, StoreFiles)] = []
        for (name, entry) in entries {
            let maker = SampleMaker(seed: 20)
            let container = try maker.open()
            try await maker.fill(container.privateDatabase(for: "alice"), saves: 6)
            try maker.edit(0) {
                $0.replaceLast(kind: entry.kind, zone: entry.zone, payload: entry.payload)
            }
            samples.append((name, maker.files))
        }
        return samples
    }
}

extension LastEntry {
    /// By the name of the sample.
    fileprivate static let ofShares: [(name: String, entry: LastEntry)] = [
        ("share-number", share(number: 3)), ("share-began", share(began: 600)),
        ("share-state", share(state: 4)),
        ("members-shares", members(from: 1, to: 1)), ("members-count", members(count: 257)),
        ("members-length", members(length: 92)),
        ("membership-share", record(1024, [2, 0])),
        ("membership-flags", record(4096, [1, 0x73])),
        ("membership-left", record(2048, [1] + RawRecord.varint(600) + [0])),
        ("tombstone-membership", tombstone([1, 0])),
        ("participant-user", participant(role: 3, status: 2)),
        ("participant-role", participant(role: 5, status: 1)),
        ("identity-status", identity(status: 5)),
        ("identity-address", identity(addresses: [("Al@b.c", "al@b.c"), ("al@b.c", "")])),
        ("identity-former", identity(formerAddresses: [9, 5])),
        ("roles-order", roles(["Editor", "Curator"])),
    ]

    /// The first entry of a share; its number is the next of the sequence.
    private static func share(
        number: UInt64 = 2, began: UInt64 = 0, state: UInt8 = 1
    ) -> LastEntry {
        LastEntry(49) {
            $0.varint(number)
            $0.varint(began)
            $0.append([state, 1])
            $0.uint64(0x0102_0304_0506_0708)
            $0.uint64(0x090a_0b0c_0d0e_0f10)
            $0.countedText("Share-1")
            $0.countedText("note-0")
        }
    }

    /// The number 1 is that of the zone, and known.
    private static func members(
        from old: UInt64 = 0, to new: UInt64 = 1, count: Int = 1, length: UInt64 = 88
    ) -> LastEntry {
        LastEntry(50) {
            $0.varint(old)
            $0.varint(new)
            $0.zeros(8)
            $0.varint(count)
            for number in 0..<count {
                $0.countedText("note-\(number)")
                $0.append([0])
                $0.varint(UInt64(600))
                $0.varint(length)
                guard old != 0 else { continue }
                $0.varint(UInt64(590))
                $0.append([0])
            }
        }
    }

    /// A record that is new, with these flags and what they add.
    private static func record(_ flags: UInt64, _ shares: [UInt8]) -> LastEntry {
        var record = RawRecord()
        record.flags = flags
        record.shares = shares
        let payload = record.payload
        return LastEntry(32) { $0.append(payload) }
    }

    private static func tombstone(_ membership: [UInt8]) -> LastEntry {
        LastEntry(33) {
            for number: UInt64 in [0, 1, 0, 600, 9] { $0.varint(number) }
            $0.countedText("hostile")
            $0.append([32])
            $0.append(membership)
        }
    }

    /// Of no known user.
    private static func participant(role: UInt8, status: UInt8) -> LastEntry {
        LastEntry(51) {
            $0.append([1])
            $0.zeros(16)
            $0.append([0, role, 2, status, 0, 0, 0, 0])
        }
    }

    private static func identity(
        status: UInt8 = 1, addresses: [(text: String, compared: String)] = [],
        formerAddresses: [UInt64] = []
    ) -> LastEntry {
        LastEntry(52, zone: 0) {
            $0.append([1, status, 0])
            $0.countedText("Alice")
            $0.countedText("")
            $0.varint(addresses.count)
            for address in addresses {
                $0.append([1])
                $0.countedText(address.text)
                $0.countedText(address.compared)
            }
            $0.varint(formerAddresses.count)
            for hash in formerAddresses {
                $0.uint64(0)
                $0.uint64(hash)
            }
        }
    }

    private static func roles(_ names: [String]) -> LastEntry {
        LastEntry(53, zone: 0) {
            $0.append([1])
            $0.varint(names.count)
            for name in names { $0.countedText(name) }
        }
    }
}
