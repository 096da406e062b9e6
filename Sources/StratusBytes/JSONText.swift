extension ByteWriter {
    /// Appends a string of JSON (RFC 8259): characters that a terminal or a reader may take for more
    /// than a letter are escaped, so that the text may be shown as it is.
    package mutating func jsonString(_ string: String) {
        uint8(UInt8(ascii: "\""))
        let utf8 = string.utf8Span.span
        if utf8.standsForItselfInJSON {
            append(utf8)
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

extension Span<UInt8> {
    /// Whether all bytes are ASCII that needs no escape.
    fileprivate var standsForItselfInJSON: Bool {
        var place = 0
        while place + 8 <= count {
            guard uint64(at: place).standsForItselfInJSON else { return false }
            place += 8
        }
        while place < count {
            // As a word in which the other bytes are `a`.
            guard (0x6161_6161_6161_6100 | UInt64(uint8(at: place))).standsForItselfInJSON else {
                return false
            }
            place += 1
        }
        return true
    }
}

extension UInt64 {
    /// Whether all eight bytes are ASCII that needs no escape.
    fileprivate var standsForItselfInJSON: Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        // The highest bit of each byte below `limit`; where there is one, perhaps those of bytes above
        // it, too.
        func below(_ word: UInt64, _ limit: UInt64) -> UInt64 { (word &- ones &* limit) & ~word }
        let special =
            self | below(self, 0x20) | below(self ^ ones &* 0x22, 1)
            | below(self ^ ones &* 0x5C, 1) | below(self ^ ones &* 0x7F, 1)
        return special & (ones &* 0x80) == 0
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
