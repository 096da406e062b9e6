import FoundationEssentials
import Stratus
import StratusBytes
import Testing

@Suite struct TokenTests {
    /// What each line of a file of tokens is.
    static func description(of file: [UInt8]) -> [String] {
        String(decoding: file, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .map { line in
                guard let data = Data(base64Encoded: String(line)) else {
                    return "refused base64"
                }
                return fault(of: [UInt8](data)).map { "refused \($0)" }
                    ?? TokenFields([UInt8](data)).line
            }
    }

    /// The rule of `Formats/Token.md` that bytes break.
    private static func fault(of bytes: [UInt8]) -> String? {
        if bytes.count < 2 { return "length" }
        if bytes[0] != 1 { return "format" }
        if !TokenFields.scopes.contains(bytes[1] & 0x7f) || bytes[1] == 0x87 { return "scope" }
        if bytes.count != TokenFields.length(bytes[1]) { return "length" }
        if TokenFields.sealed(Array(bytes.dropLast(4))) != bytes { return "checksum" }
        return bytes[1] < 0x80 ? nil : TokenFields(bytes).fault
    }

    @Test(arguments: ["valid/tokens", "damaged/tokens"])
    func `tokens are read as their expectation says`(name: String) throws {
        let sample = Sample(name: name)
        let file = try #require(sample.files[Sample.tokens])
        let described = Self.description(of: file)
        #expect(described.joined(separator: "\n") + "\n" == sample.expected)
        let lines = String(decoding: file, as: UTF8.self)
            .split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        #expect(lines.count == described.count)
        for (line, description) in zip(lines, described) {
            let token = ChangeToken(String(line))
            #expect((token == nil) == description.hasPrefix("refused"), "\(description)")
            if let token { #expect(token.description == line) }
        }
    }

    @Test(arguments: SampleMaker.validTokens)
    func `a token of any bit flipped is refused`(whole: [UInt8]) throws {
        _ = try ChangeToken(data: Data(whole))
        for bit in 0..<whole.count * 8 {
            var flipped = whole
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: StoreError.self) { try ChangeToken(data: Data(flipped)) }
        }
    }
}
