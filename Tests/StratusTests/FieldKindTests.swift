import StratusEngine
import Testing

@Suite struct FieldKindTests {
    /// The rule of `Formats/Record.md`, "Values": 1 to 8, of a list also 0, with a bit for lists and
    /// one for encrypted fields, which are neither references nor assets.
    private static func isKind(_ byte: UInt8) -> Bool {
        guard byte & 0x80 == 0, byte & 0x10 == 0 else { return false }
        let value = byte & 0x0f
        let (isList, isEncrypted) = (byte & 0x20 != 0, byte & 0x40 != 0)
        guard (isList ? 0 : 1)...8 ~= value else { return false }
        return !isEncrypted || value < 7
    }

    @Test func `a byte is the kind of a field exactly where the page says so`() {
        for byte in 0...UInt8.max {
            let kind = FieldKind(rawValue: byte)
            #expect((kind != nil) == Self.isKind(byte), "\(byte)")
            #expect(kind?.rawValue ?? byte == byte)
        }
    }
}
