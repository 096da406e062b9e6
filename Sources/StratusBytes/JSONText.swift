extension String {
    /// Appends a string of JSON (RFC 8259): characters that a terminal or a reader may take for more
    /// than a letter are escaped, so that the text may be shown as it is.
    package mutating func appendJSON(_ string: String) {
        self += "\""
        if string.utf8.allSatisfy(Self.standsForItself) {
            self += string
        } else {
            for scalar in string.unicodeScalars { appendJSON(scalar) }
        }
        self += "\""
    }

    private static func standsForItself(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    private mutating func appendJSON(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": self += "\\\""
        case "\\": self += "\\\\"
        case "\n": self += "\\n"
        case "\r": self += "\\r"
        case "\t": self += "\\t"
        default:
            guard scalar.isHazardous else {
                unicodeScalars.append(scalar)
                return
            }
            // All of them lie below 2^16, so four digits always do.
            let digits = String(scalar.value, radix: 16)
            self += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
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
