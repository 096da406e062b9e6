import StratusGateway
import Support
import Testing

struct JSONReaderTests {
    private func read(_ text: String) throws -> JSONValue {
        try JSONReader.read(Array(text.utf8).span)
    }

    private func write(_ value: JSONValue) -> String {
        var writer = JSONWriter()
        writer.append(value)
        return writer.text
    }

    private func isRefused(_ bytes: [UInt8]) -> Bool {
        do {
            _ = try JSONReader.read(bytes.span)
            return false
        } catch {
            return (0...bytes.count).contains(error.byte)
        }
    }

    @Test(arguments: [
        "null", "true", "false", "0", "-0", "1", "-1", "9223372036854775807",
        "-9223372036854775808", "9223372036854775808", "0.1", "1.0", "-1e5", "1E-7", "1e+2",
        "123456789012345678901234567890", "\"\"", "\"a\"", "[]", "[[],[1]]", "{}",
        #"{"a":1,"b":{"a":[null]}}"#, #""grün 👩‍🚀""#,
    ])
    func `a value is written as it was read`(text: String) throws {
        #expect(write(try read(text)) == text)
        #expect(write(try read(" \n\r\t\(text) \n")) == text)
    }

    @Test func `an integer is exact, and what does not fit is a number`() throws {
        #expect(try read("9007199254740993") == .integer(9_007_199_254_740_993))
        #expect(try read("-9223372036854775808") == .integer(.min))
        guard case .number(let number) = try read("18446744073709551615") else {
            Issue.record("it is no number")
            return
        }
        #expect(number.value == 0x1p64)
    }

    @Test(arguments: [
        (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"), (#""\u0041\u00e4\u4e16""#, "Aä世"),
        (#""\ud83d\ude80\uD83D\uDE80""#, "🚀🚀"), (#""\u0000""#, "\0"), (#""a\u0301""#, "a\u{301}"),
    ])
    func `escapes are read`(text: String, expected: String) throws {
        guard case .string(let string) = try read(text) else {
            Issue.record("it is no string")
            return
        }
        #expect(string.utf8.elementsEqual(expected.utf8))
    }

    @Test(arguments: [
        "", " ", "nul", "nulll", "True", "NaN", "Infinity", "-", "+1", "01", "-01", "1.", ".1",
        "1e", "1e+", "0x1", "1e400", "-1e999", "\"", "\"\\\"", "\"\\x\"", "\"\\u12\"",
        "\"\\u12g4\"",
        "\"\\ud800\"", "\"\\udc00\"", "\"\\ud800\\u0041\"", "\"\\ud800x\"", "\"a\nb\"", "\"\t\"",
        "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "]", "{", "{a:1}", "{\"a\"}", "{\"a\":}",
        "{\"a\":1,}", "{\"a\":1 \"b\":2}", "{1:2}", "}", "1 2", "[] []", "/* */ 1", "'a'",
        "\u{FEFF}1",
        "{\"a\":1,\"a\":2}", "{\"a\":1,\"\\u0061\":2}", "[{\"x\":{\"a\":1,\"b\":2,\"a\":3}}]",
    ])
    func `what is no JSON is refused`(text: String) {
        #expect(isRefused(Array(text.utf8)))
    }

    @Test(
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xE4, 0x22], [0x22, 0x5C, 0x6E, 0x80, 0x22], [0xEF, 0xBB, 0xBF, 0x31],
            [0x31, 0x00],
        ] as [[UInt8]])
    func `bytes that are no UTF-8 are refused`(bytes: [UInt8]) {
        #expect(isRefused(bytes))
    }

    @Test func `names that look alike and differ in their bytes are two`() throws {
        let value = try read("{\"é\":1,\"e\u{301}\":2}")
        guard case .object(let object) = value else { return }
        #expect(object["é"] == 1 && object["e\u{301}"] == 2)
    }

    @Test func `among many names one given twice is found`() throws {
        let names = (0..<100).map { "\"n\($0)\":0" }
        #expect(try read("{\(names.joined(separator: ","))}") != .null)
        for index in [0, 15, 16, 99] {
            #expect(isRefused(Array("{\(names.joined(separator: ",")),\"n\(index)\":1}".utf8)))
        }
    }

    @Test(arguments: [("[", "]"), ("{\"a\":", "}")])
    func `nesting has a limit`(open: String, close: String) {
        let nested = { (depth: Int) in
            Array((repeated(open, depth) + "1" + repeated(close, depth)).utf8)
        }
        #expect(!isRefused(nested(64)))
        #expect(isRefused(nested(65)))
        #expect(isRefused(Array(repeated(open, 1_000_000).utf8)))
    }

    @Test func `a text that ends too early is refused, wherever it ends`() {
        let text = Array(
            #"{"a":[1,-2.5e3,true,null,"x\u00e4\ud83d\ude80ü"],"b":{"c":false}}"#.utf8)
        #expect(!isRefused(text))
        for end in text.indices { #expect(isRefused(Array(text[..<end]))) }
    }

    @Test func `whatever is written reads back as itself`() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<500 {
            let value = anyValue(&random, depth: 0)
            #expect(try read(write(value)) == value)
        }
    }

    private func repeated(_ text: String, _ count: Int) -> String {
        String(repeating: text, count: count)
    }

    private func anyValue(_ random: inout SeededGenerator, depth: Int) -> JSONValue {
        switch random.below(depth > 3 ? 5 : 7) {
        case 0: return .null
        case 1: return .boolean(random.oneIn(2))
        case 2: return .integer(Int(truncatingIfNeeded: random.next() >> UInt64(random.below(64))))
        case 3:
            let number = JSONNumber(Double(bitPattern: random.next()))
            return number.map(JSONValue.number) ?? .null
        case 4: return .string(anyText(&random))
        case 5:
            return .array((0..<random.below(5)).map { _ in anyValue(&random, depth: depth + 1) })
        default:
            var object = JSONObject()
            for index in 0..<random.below(20) {
                object.append("\(index)" + anyText(&random), anyValue(&random, depth: depth + 1))
            }
            return .object(object)
        }
    }

    private func anyText(_ random: inout SeededGenerator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<random.below(12) {
            let limit = [0x80, 0x800, 0x10000, 0x110000][random.below(4)]
            if let scalar = Unicode.Scalar(UInt32(random.below(limit))) { text.append(scalar) }
        }
        return String(text)
    }
}
