import FoundationEssentials
import Stratus
import StratusGateway
import Testing

/// Certificates as files of JSON.
struct CertificateTextTests {
    private static let hash = String(repeating: "ab", count: 32)

    private static let certificate = Certificate(
        storeID: String(repeating: "0f", count: 16), lineage: 0x0123_4567_89AB_CDEF,
        incarnation: 7, offset: (1 << 52) - 1, chain: .max,
        lastCommit: Date(timeIntervalSince1970: 1_795_741_782.643),
        created: Date(timeIntervalSince1970: 1_795_741_782.701), tool: "test \"1\"",
        zones: [
            Certificate.Zone(
                owner: nil, zoneName: "_defaultZone", recordCount: 0, contentHash: hash),
            Certificate.Zone(owner: "_a", zoneName: "caf\u{E9}", recordCount: 3, contentHash: hash),
            Certificate.Zone(
                owner: "_a", zoneName: "cafe\u{301}", recordCount: 3, contentHash: hash),
        ])

    private static let text = """
        {"type":"certificate","version":1,"storeID":"0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f",\
        "lineage":"0123456789abcdef","incarnation":7,"offset":"4503599627370495",\
        "chain":"ffffffffffffffff","lastCommit":"2026-11-27T01:09:42.643Z",\
        "made":"2026-11-27T01:09:42.701Z","tool":"test \\"1\\"","zones":[\
        {"zoneName":"_defaultZone","records":0,"contentHash":"\(hash)"},\
        {"zoneName":"caf\u{E9}","user":"_a","records":3,"contentHash":"\(hash)"},\
        {"zoneName":"cafe\u{301}","user":"_a","records":3,"contentHash":"\(hash)"}]}
        """

    private func refusal(_ text: String) -> StoreError? {
        do {
            _ = try Certificate(json: Array(text.utf8))
            return nil
        } catch {
            return error
        }
    }

    @Test func `a certificate is written as its page says, and read back`() throws {
        #expect(String(decoding: Self.certificate.json, as: UTF8.self) == Self.text)
        let read = try Certificate(json: Array((Self.text + "\n").utf8))
        #expect(String(decoding: read.json, as: UTF8.self) == Self.text)
        #expect(read.zones == Self.certificate.zones && read.chain == .max)
        var empty = Self.certificate
        (empty.lastCommit, empty.zones) = (nil, [])
        #expect(try Certificate(json: empty.json).lastCommit == nil)
    }

    @Test func `a certificate that ends early is refused, wherever that is`() {
        let bytes = Array(Self.text.utf8)
        for length in 0..<bytes.count {
            let error = #expect(throws: StoreError.self) {
                try Certificate(json: Array(bytes[..<length]))
            }
            #expect(error?.code == .invalidArguments, "\(length)")
            #expect(error?.reason.hasPrefix("no JSON: ") == true, "\(length)")
        }
    }

    @Test(arguments: [
        (#""type":"certificate""#, #""type":"archive""#, "type must be certificate"),
        (#""version":1,"#, "", "version is missing"),
        (#""version":1,"#, #""version":0,"#, "version must be 1"),
        (#""storeID":"0f"#, #""storeID":"0F"#, "storeID must be 32 lower-case hexadecimal digits"),
        (#""lineage":"01"#, #""lineage":""#, "lineage must be 16 lower-case hexadecimal digits"),
        (#""incarnation":7"#, #""incarnation":4096"#, "incarnation must be from 0 to 4095"),
        (#""incarnation":7"#, #""incarnation":-1"#, "incarnation must be from 0 to 4095"),
        (#""incarnation":7"#, #""incarnation":"7""#, "incarnation must be an integer"),
        ("4503599627370495", "4503599627370496", "offset must be text, a number from 0"),
        ("4503599627370495", "+1", "offset must be text, a number from 0"),
        (#""chain":"ffffffffffffffff""#, #""chain":null"#, "chain is missing"),
        (#""chain":"f"#, #""chain":"g"#, "chain must be 16 lower-case hexadecimal digits"),
        (#""made":"2026"#, #""made":"soon"#, "made must be a time"),
        (#""lastCommit":"2026-11"#, #""lastCommit":"2026-99"#, "lastCommit must be a time"),
        (#""tool":"#, #""maker":"#, "maker is no key here"),
        (#""records":0"#, #""records":-1"#, "zones[0].records must not be negative"),
        (#""zoneName":"caf\#u{E9}""#, #""zoneName":1"#, "zones[1].zoneName must be text"),
        (#""zoneName":"caf\#u{E9}""#, "\"zoneName\":\"cafe\u{301}\"", "zones has a zone twice"),
        (#""contentHash":"abab"#, #""contentHash":"ab"#, "zones[0].contentHash must be 64"),
    ])
    func `a certificate with a wrong value is refused, and it is said which`(
        part: String, other: String, reason: String
    ) throws {
        var text = Self.text
        text.replaceSubrange(try #require(text.firstRange(of: part)), with: other)
        let error = refusal(text)
        #expect(error?.code == .invalidArguments)
        #expect(
            error?.reason.hasPrefix("no certificate: " + reason) == true, "\(error?.reason ?? "")")
    }

    @Test(arguments: ["[]", "1", #""certificate""#, "null", "{}"])
    func `what is no certificate at all is refused`(text: String) {
        #expect(refusal(text)?.reason.hasPrefix("no certificate: ") == true)
    }

    @Test func `a certificate of a later form is one of a newer format`() {
        let text = Self.text.replacing(#""version":1"#, with: #""more":[],"version":2"#)
        #expect(refusal(text)?.cause == .newerFormat)
    }
}
