import StratusBytes
import Support
import Testing

@Suite struct ByteCursorTests {
    /// What reading all of `bytes` with `read` gives; on an error the cursor must not have moved.
    private func read<Value>(
        _ bytes: [UInt8],
        _ read: (inout ByteCursor, Span<UInt8>) throws(FormatError) -> Value
    ) throws(FormatError) -> Value {
        var cursor = ByteCursor()
        do throws(FormatError) {
            let value = try read(&cursor, bytes.span)
            #expect(cursor.position == bytes.count)
            return value
        } catch {
            #expect(cursor.position == 0, "the cursor moved though it failed")
            throw error
        }
    }

    @Test(
        arguments: [
            (0, [0]), (1, [1]), (127, [0x7f]), (128, [0x80, 1]), (300, [0xac, 2]),
            (16383, [0xff, 0x7f]), (16384, [0x80, 0x80, 1]),
            (UInt64(1) << 63, [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]),
            (.max, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]),
        ] as [(UInt64, [UInt8])])
    func `a varint has one form, the shortest`(value: UInt64, bytes: [UInt8]) throws {
        var writer = ByteWriter()
        writer.varint(value)
        #expect(writer.bytes == bytes)
        #expect(
            try read(bytes) { cursor, span throws(FormatError) in try cursor.varint(span) } == value
        )
        for count in 0..<bytes.count {
            #expect(throws: FormatError.truncated) {
                try read(Array(bytes.prefix(count))) { cursor, span throws(FormatError) in
                    try cursor.varint(span)
                }
            }
        }
    }

    @Test(
        arguments: [
            [0x80, 0], [0x81, 0], [0xff, 0x80, 0], [0x80, 0x80, 0x80, 0],
            // 65 bits and more.
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
            [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1],
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff],
            [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0],
        ] as [[UInt8]])
    func `a varint that is longer than it need be, or than 64 bits, is refused`(
        bytes: [UInt8]
    ) {
        for behind in [[], [UInt8](repeating: 1, count: 8)] {
            #expect(throws: FormatError.integer) {
                try read(bytes + behind) { cursor, span throws(FormatError) in
                    try cursor.varint(span)
                }
            }
        }
    }

    @Test func `what lies behind a varint does not change it`() throws {
        for bit in 0..<64 {
            for value in [1 << bit, ~0 >> bit, 0x0123_4567_89ab_cdef >> bit] as [UInt64] {
                for behind in [0, 0x7f, 0x80, 0xff] as [UInt8] {
                    var writer = ByteWriter()
                    writer.varint(value)
                    let count = writer.count
                    writer.append([UInt8](repeating: behind, count: 9))
                    var cursor = ByteCursor()
                    #expect(try cursor.varint(writer.bytes.span) == value)
                    #expect(cursor.position == count)
                }
            }
        }
    }

    @Test(arguments: [0, 1, -1, 63, -64, 64, .max, .min, 1 << 32] as [Int64])
    func `a signed varint comes back, small numbers in one byte`(value: Int64) throws {
        var writer = ByteWriter()
        writer.signedVarint(value)
        #expect((writer.count == 1) == (-64...63).contains(value))
        #expect(
            try read(writer.bytes) { cursor, span throws(FormatError) in
                try cursor.signedVarint(span)
            } == value)
    }

    @Test func `a varint that does not fit its type or its limit is refused`() throws {
        var writer = ByteWriter()
        writer.varint(UInt64(1) << 32)
        let large = writer.bytes
        #expect(throws: FormatError.integer) {
            try read(large) { cursor, span throws(FormatError) in
                try cursor.varint32(span)
            }
        }
        #expect(throws: FormatError.value("count")) {
            try read(large) { cursor, span throws(FormatError) in
                try cursor.count(span, upTo: 1 << 31)
            }
        }
        let fits = try read(large) { cursor, span throws(FormatError) in
            try cursor.count(span, upTo: 1 << 32)
        }
        #expect(fits == 1 << 32)
    }

    @Test func `integers are little-endian and stop at the end of the bytes`() throws {
        var writer = ByteWriter()
        writer.uint8(1)
        writer.uint16(0x0302)
        writer.uint32(0x0706_0504)
        writer.uint64(0x0f0e_0d0c_0b0a_0908)
        writer.int64(-2)
        writer.double(-0.0)
        #expect(writer.bytes.prefix(15) == (1...15).map { UInt8($0) }[...])
        let bytes = writer.bytes
        var cursor = ByteCursor()
        #expect(try cursor.uint8(bytes.span) == 1)
        #expect(try cursor.uint16(bytes.span) == 0x0302)
        #expect(try cursor.uint32(bytes.span) == 0x0706_0504)
        #expect(try cursor.uint64(bytes.span) == 0x0f0e_0d0c_0b0a_0908)
        #expect(try cursor.int64(bytes.span) == -2)
        #expect(try cursor.double(bytes.span).bitPattern == (-0.0).bitPattern)
        try cursor.end(bytes.span)
        for count in 0..<8 {
            let short = Array(bytes.prefix(count))
            #expect(throws: FormatError.truncated) {
                try read(short) { cursor, span throws(FormatError) in try cursor.uint64(span) }
            }
            if count < 4 {
                #expect(throws: FormatError.truncated) {
                    try read(short) { cursor, span throws(FormatError) in try cursor.uint32(span) }
                }
            }
            if count < 2 {
                #expect(throws: FormatError.truncated) {
                    try read(short) { cursor, span throws(FormatError) in try cursor.uint16(span) }
                }
            }
        }
        #expect(throws: FormatError.truncated) {
            try read([]) { cursor, span throws(FormatError) in try cursor.uint8(span) }
        }
    }

    @Test(arguments: ["", "a", "é", "e\u{301}", "日本", "\u{0}", String(repeating: "x", count: 300)])
    func `text comes back code point by code point, up to its limit`(text: String) throws {
        var writer = ByteWriter()
        writer.countedText(text)
        let length = text.utf8.count
        let found = try read(writer.bytes) { cursor, span throws(FormatError) in
            try cursor.text(span, upTo: length)
        }
        #expect(found.utf8.elementsEqual(text.utf8))
        if length > 0 {
            #expect(throws: FormatError.value("count")) {
                try read(writer.bytes) { cursor, span throws(FormatError) in
                    try cursor.text(span, upTo: length - 1)
                }
            }
            #expect(throws: FormatError.truncated) {
                try read(Array(writer.bytes.dropLast())) { cursor, span throws(FormatError) in
                    try cursor.text(span, upTo: length)
                }
            }
        }
    }

    @Test(
        arguments: [
            [0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80],
            [0x61, 0x80],
        ] as [[UInt8]])
    func `bytes that are not UTF-8 are no text`(bytes: [UInt8]) {
        #expect(throws: FormatError.text) {
            try read(bytes) { cursor, span throws(FormatError) in
                try cursor.text(span, count: span.count)
            }
        }
    }

    @Test func `a range lies inside the bytes, and the end is the end`() throws {
        let bytes = [UInt8](repeating: 7, count: 10)
        var cursor = ByteCursor(at: 4)
        #expect(try cursor.range(bytes.span, count: 0) == 4..<4)
        #expect(try cursor.range(bytes.span, count: 5) == 4..<9)
        for count in [2, -1, .max] {
            #expect(throws: FormatError.truncated) { try cursor.range(bytes.span, count: count) }
            #expect(cursor.position == 9)
        }
        #expect(throws: FormatError.value("length")) { try cursor.end(bytes.span) }
        #expect(try cursor.range(bytes.span, count: 1) == 9..<10)
        try cursor.end(bytes.span)
    }

    @Test func `random bytes are read or refused and never more`() {
        for seed in UInt64(0)..<2000 {
            var generator = SeededGenerator(seed: seed)
            let bytes = generator.bytes(generator.below(24))
            var cursor = ByteCursor()
            while cursor.remaining(bytes.span) > 0 {
                let before = cursor.position
                let isRead: Bool
                switch generator.below(4) {
                case 0: isRead = (try? cursor.varint(bytes.span)) != nil
                case 1: isRead = (try? cursor.text(bytes.span, upTo: 20)) != nil
                case 2: isRead = (try? cursor.count(bytes.span, upTo: 100)) != nil
                default: isRead = (try? cursor.varint32(bytes.span)) != nil
                }
                #expect(isRead ? cursor.position > before : cursor.position == before)
                #expect(cursor.position <= bytes.count)
                if !isRead { break }
            }
        }
    }
}
