import FoundationEssentials
import StratusGateway
import Testing

struct JSONWriterTests {
    private func json(_ value: JSONValue) -> String {
        var writer = JSONWriter()
        writer.append(value)
        return writer.text
    }

    @Test func `a line begins with its type and keeps the order given`() {
        let line = JSONWriter.line(type: "zone", ["name": "z", "count": 2, "another": true])
        #expect(line == Array(#"{"type":"zone","name":"z","count":2,"another":true}"#.utf8))
        #expect(JSONWriter.line(type: "summary", [:]) == Array(#"{"type":"summary"}"#.utf8))
    }

    @Test func `a value of nil is left out, null is written`() {
        var object: JSONObject = ["a": .null]
        object.append("b", nil)
        object.append("c", ["x", ["y": []]])
        #expect(json(.object(object)) == #"{"a":null,"c":["x",{"y":[]}]}"#)
    }

    @Test(arguments: [
        (#"a"b\c"#, #""a\"b\\c""#), ("\n\r\t\u{0}\u{1B}\u{7F}", #""\n\r\t\u0000\u001b\u007f""#),
        ("\u{85}\u{9B}", #""\u0085\u009b""#),
        ("\u{202E}\u{2066}\u{200F}", #""\u202e\u2066\u200f""#),
        ("\u{2028}\u{FEFF}", #""\u2028\ufeff""#), ("grün 👩‍🚀 世", #""grün 👩‍🚀 世""#),
        ("\r\n", #""\r\n""#),
        ("", #""""#),
    ])
    func `what could harm a terminal is escaped`(text: String, expected: String) throws {
        #expect(json(.string(text)) == expected)
        #expect(try JSONDecoder().decode(String.self, from: Data(expected.utf8)) == text)
    }

    @Test func `a character is escaped, or not, wherever it stands`() throws {
        let plain = "abcdefghijklmnopq"
        for scalar in (0..<0x300 as Range<UInt32>).compactMap(Unicode.Scalar.init) {
            for place in 0...plain.utf8.count {
                let text = plain.prefix(place) + String(Character(scalar)) + plain.dropFirst(place)
                let written = json(.string(String(text)))
                #expect(try JSONDecoder().decode(String.self, from: Data(written.utf8)) == text)
                let isControl = scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
                let isEscaped = isControl || scalar == "\"" || scalar == "\\"
                #expect(written.contains("\\") == isEscaped)
                #expect(isEscaped || written == "\"\(text)\"")
            }
        }
    }

    @Test(arguments: [
        (JSONValue.integer(.min), "-9223372036854775808"),
        (.offset(7), #""7""#), (.offset(.max), #""18446744073709551615""#),
    ])
    func `an integer is exact for every reader`(value: JSONValue, expected: String) {
        #expect(json(value) == expected)
    }

    @Test(arguments: [
        0.1 + 0.2, 1, -0.0, 1e16, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .pi, -1e-7,
        123_456_789.125,
    ])
    func `a double reads back as itself`(value: Double) throws {
        let text = json(.double(value))
        let decoded = try JSONDecoder().decode(Double.self, from: Data(text.utf8))
        #expect(decoded.bitPattern == value.bitPattern)
    }

    @Test func `what JSON has no word for gets one`() {
        #expect(json(.double(.nan)) == #"{"$double":"nan"}"#)
        #expect(json(.double(-.infinity)) == #"{"$double":"-inf"}"#)
    }

    // C120.
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (1_700_000_000.001, "2023-11-14T22:13:20.001Z"),
        (1_700_000_000.9996, "2023-11-14T22:13:21.000Z"), (-0.001, "1969-12-31T23:59:59.999Z"),
        (-62_135_596_800, "0001-01-01T00:00:00.000Z"), (-1e10, "1653-02-10T06:13:20.000Z"),
        (951_782_400, "2000-02-29T00:00:00.000Z"), (-2_203_891_200, "1900-03-01T00:00:00.000Z"),
        (253_402_300_799.999, "9999-12-31T23:59:59.999Z"),
    ])
    func `a date is exact to the millisecond`(seconds: Double, expected: String) {
        #expect(json(.date(Date(timeIntervalSince1970: seconds))) == "\"\(expected)\"")
    }

    @Test func `every millisecond of a second is written as itself`() {
        for milliseconds in 1_763_700_000_000..<1_763_700_001_000 {
            let text = json(.date(Date(timeIntervalSince1970: Double(milliseconds) / 1_000)))
            #expect(text.dropLast(2).suffix(3) == String(1_000 + milliseconds % 1_000).suffix(3))
        }
    }

    @Test(arguments: [1e300, -1e300, 253_402_300_800, .infinity])
    func `a date beyond the calendar is written in seconds`(seconds: Double) {
        let text = json(.date(Date(timeIntervalSinceReferenceDate: seconds)))
        #expect(text.hasPrefix(#"{"$seconds":"#))
    }
}
