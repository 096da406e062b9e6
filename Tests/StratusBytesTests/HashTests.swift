import StratusBytes
import Testing

/// Against vectors that others published.
@Suite struct HashTests {
    // FIPS 180-4.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            String(repeating: "a", count: 1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
        ),
    ])
    func `SHA-256 is the standard's, at once and in parts`(text: String, hex: String) {
        let bytes = Array(text.utf8)
        #expect(Hex.encode(SHA256.hash(bytes)) == hex)
        var hash = SHA256()
        for start in stride(from: 0, to: bytes.count, by: 777) {
            hash.update(bytes.span.extracting(start..<min(start + 777, bytes.count)))
        }
        #expect(Hex.encode(hash.finish()) == hex)
    }

    // The vectors of XXH3's specification for no bytes, and the seed's effect.
    @Test func `XXH3 is the published one`() {
        let none: [UInt8] = []
        #expect(Checksum.xxh3(none.span) == 0x2d06_8005_38d3_94c2)
        #expect(Checksum.xxh3(none.span, seed: 1) != Checksum.xxh3(none.span))
        let hash = Hash128("", seed: 0)
        #expect(hash == Hash128(high: 0x99aa_06d3_0147_98d8, low: 0x6001_c324_468d_497f))
        #expect(Hash128(none.span, seed: 0) == hash)
    }

    @Test func `every bit of the bytes and the seed counts, and the range's bytes alone do`() {
        let bytes = (0..<100).map { UInt8($0) }
        let whole = Checksum.xxh3(bytes.span)
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 1
            #expect(Checksum.xxh3(changed.span) != whole)
            #expect(
                Checksum.xxh3(changed.span, in: place + 1..<100)
                    == Checksum.xxh3(bytes.span, in: place + 1..<100))
        }
        #expect(Hash128("a", seed: 1) != Hash128("a", seed: 2))
        #expect(Hash128("a", seed: 1) == Hash128("a", seed: 1))
    }

    @Test(arguments: 0...20)
    func `the quick hash of a text counts every byte and the length`(count: Int) {
        let texts = (0..<count).map { place in
            String(repeating: "a", count: place) + "b"
                + String(repeating: "a", count: count - place - 1)
        }
        let all = texts + [String(repeating: "a", count: count), "a" + texts.joined()]
        #expect(Set(all.map { Checksum.quick($0) }).count == Set(all).count)
    }

    @Test func `hashes are ordered as numbers`() {
        let ordered = [(0, 0), (0, 1), (0, UInt64.max), (1, 0), (.max, .max)].map {
            Hash128(high: $0, low: $1)
        }
        #expect(ordered.shuffled().sorted() == ordered)
    }

    @Test(
        arguments: [
            ([], ""), ([0], "00"), ([0x0f, 0xf0, 0xff, 0xa5], "0ff0ffa5"),
        ] as [([UInt8], String)])
    func `hexadecimal digits are two a byte, in small letters`(bytes: [UInt8], text: String) {
        #expect(Hex.encode(bytes) == text)
        #expect(Hex.decode(text) == bytes)
    }

    @Test(arguments: ["0", "0g", "AB", " 0", "0x", "é", "-1", "0\u{301}"])
    func `what is no small hexadecimal digit is refused`(text: String) {
        #expect(Hex.decode(text) == nil)
    }

    @Test func `a number has as many digits as its type`() {
        #expect(Hex.encode(UInt8(5)) == "05")
        #expect(Hex.encode(UInt32(0xabc)) == "00000abc")
        #expect(Hex.encode(UInt64.max) == "ffffffffffffffff")
    }

    @Test func `hashes belong all over a table`() {
        let places = (0..<10_000).map { number in
            Checksum.xxh3(words: [UInt64(number)].span).place(among: 1000)
        }
        let counts = Dictionary(grouping: places, by: \.self).mapValues(\.count)
        #expect(counts.keys.allSatisfy { 0..<1000 ~= $0 })
        // Ten belong in a place on average.
        #expect(counts.count >= 990)
        #expect(counts.values.max() ?? 0 < 40)
    }
}
