internal import StratusBytes

extension String {
    /// Whether every byte is a printable ASCII character, which most text is.
    fileprivate var isPlain: Bool {
        utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    /// Text of ours with whatever data is in it made harmless; tabs stay.
    var harmless: String {
        isPlain ? self : escapingScalars { $0.isHazardous && $0 != "\t" }
    }

    fileprivate func escapingScalars(where isEscaped: (Unicode.Scalar) -> Bool) -> String {
        var text = ""
        for scalar in unicodeScalars {
            guard isEscaped(scalar) else {
                text.unicodeScalars.append(scalar)
                continue
            }
            switch scalar {
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default: text += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            }
        }
        return text
    }
}

extension Output {
    /// Data as text that a terminal only shows: hazardous characters as in a Swift string literal
    /// (`\n`, `\u{1B}`), and so a backslash as two.
    package static func escaped(_ data: String) -> String {
        data.isPlain && !data.utf8.contains(UInt8(ascii: "\\"))
            ? data : data.escapingScalars { $0.isHazardous || $0 == "\\" }
    }
}
