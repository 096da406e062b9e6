extension ByteWriter {
    /// Appends a string of JSON (RFC 8259): characters that a terminal or a reader may take for more
    /// than a letter are escaped, so that the text may be shown as it is.
    package mutating func jsonString(_ string: String) {
        uint8(UInt8(ascii: "\""))
        if string.utf8.allSatisfy(\.standsForItselfInJSON) {
            text(string)
        } else {
            for scalar in string.unicodeScalars { jsonScalar(scalar) }
        }
        uint8(UInt8(ascii: "\""))
    }

    private mutating func jsonScalar(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": text("\\\"")
        case "\\": text("\\\\")
        case "\n": text("\\n")
        case "\r": text("\\r")
        case "\t": text("\\t")
        default:
            guard scalar.isHazardous else {
                append(contentsOf: scalar.utf8)
                return
            }
            // All of them lie below 2^16, so four digits always do.
            let digits = String(scalar.value, radix: 16)
            text("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
        }
    }
}

extension UInt8 {
    fileprivate var standsForItselfInJSON: Bool {
        self >= 0x20 && self < 0x7F && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }
}

extension Unicode.Scalar {
    /// Whether a terminal or a reader may take this for more than a letter: control characters,
    /// old and new, line separators, and controls of the direction of text.
    package var isHazardous: Bool {
        switch value {
        case 0x00...0x1F, 0x7F...0x9F: true
        case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
