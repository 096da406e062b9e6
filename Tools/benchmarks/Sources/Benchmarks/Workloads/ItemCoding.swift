import FoundationEssentials

/// The 8 fields as bytes, for rivals that keep bytes: numbers of 8 bytes each, then texts and
/// bytes behind their lengths of 2. The first 8 bytes are left for the sequence number.
enum ItemCoding {
    static func encode(_ item: Item) -> [UInt8] {
        let texts = item.title.utf8.count + item.body.utf8.count + item.owner.utf8.count
        let length = 8 + 32 + 8 + texts + item.data.count
        return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            bytes.storeBytes(of: 0, toByteOffset: 0, as: UInt64.self)
            bytes.storeBytes(of: item.count, toByteOffset: 8, as: Int64.self)
            bytes.storeBytes(of: item.rank, toByteOffset: 16, as: Int64.self)
            bytes.storeBytes(of: item.score, toByteOffset: 24, as: Double.self)
            bytes.storeBytes(of: item.when, toByteOffset: 32, as: Double.self)
            var place = 40
            put(item.title, in: bytes, at: &place)
            put(item.body, in: bytes, at: &place)
            put(item.owner, in: bytes, at: &place)
            item.data.withUnsafeBytes { put($0, in: bytes, at: &place) }
            count = place
        }
    }

    private static func put(
        _ text: String, in bytes: UnsafeMutableRawBufferPointer, at place: inout Int
    ) {
        var text = text
        text.withUTF8 { put(UnsafeRawBufferPointer($0), in: bytes, at: &place) }
    }

    private static func put(
        _ part: UnsafeRawBufferPointer, in bytes: UnsafeMutableRawBufferPointer,
        at place: inout Int
    ) {
        bytes.storeBytes(of: UInt16(part.count), toByteOffset: place, as: UInt16.self)
        bytes[(place + 2)..<(place + 2 + part.count)].copyBytes(from: part)
        place += 2 + part.count
    }

    static func setSequence(_ sequence: UInt64, in value: inout [UInt8]) {
        value.withUnsafeMutableBytes {
            $0.storeBytes(of: sequence, toByteOffset: 0, as: UInt64.self)
        }
    }

    static func sequence(_ value: UnsafeRawBufferPointer) -> UInt64 {
        value.loadUnaligned(fromByteOffset: 0, as: UInt64.self)
    }

    static func decode(_ bytes: UnsafeRawBufferPointer, name: String) -> Item {
        var place = 40
        func part() -> UnsafeRawBufferPointer {
            let length = Int(bytes.loadUnaligned(fromByteOffset: place, as: UInt16.self))
            let part = bytes[(place + 2)..<(place + 2 + length)]
            place += 2 + length
            return UnsafeRawBufferPointer(rebasing: part)
        }
        return Item(
            name: name, title: String(decoding: part(), as: UTF8.self),
            body: String(decoding: part(), as: UTF8.self),
            count: bytes.loadUnaligned(fromByteOffset: 8, as: Int64.self),
            rank: bytes.loadUnaligned(fromByteOffset: 16, as: Int64.self),
            score: bytes.loadUnaligned(fromByteOffset: 24, as: Double.self),
            when: bytes.loadUnaligned(fromByteOffset: 32, as: Double.self),
            owner: String(decoding: part(), as: UTF8.self), data: Data(copying: part()))
    }
}

extension Data {
    /// One copy, without the conversions that the initialiser from any sequence tries first.
    init(copying bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else {
            self.init()
            return
        }
        self.init(bytes: start, count: bytes.count)
    }
}

/// Keys of rivals, in the order of their bytes: a prefix, the zone, and a name or a number.
enum KeyBytes {
    static func name(_ zone: UInt32, _ name: String, prefix: UInt8? = nil) -> [UInt8] {
        var key = start(zone, prefix, 36)
        key.append(contentsOf: name.utf8)
        return key
    }

    static func sequence(_ zone: UInt32, _ sequence: UInt64, prefix: UInt8? = nil) -> [UInt8] {
        var key = start(zone, prefix, 8)
        withUnsafeBytes(of: sequence.bigEndian) { key.append(contentsOf: $0) }
        return key
    }

    private static func start(_ zone: UInt32, _ prefix: UInt8?, _ rest: Int) -> [UInt8] {
        var key: [UInt8] = []
        key.reserveCapacity(5 + rest)
        if let prefix { key.append(prefix) }
        withUnsafeBytes(of: zone.bigEndian) { key.append(contentsOf: $0) }
        return key
    }

    /// The number at the end of a key.
    static func sequence(of key: UnsafeRawBufferPointer) -> UInt64 {
        UInt64(bigEndian: key.loadUnaligned(fromByteOffset: key.count - 8, as: UInt64.self))
    }

    /// The zone in front of the number at the end of a key.
    static func zone(of key: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(bigEndian: key.loadUnaligned(fromByteOffset: key.count - 12, as: UInt32.self))
    }
}
