/// Bytes as lower-case hexadecimal digits, two a byte.
package enum Hex {
    fileprivate static let digits = Array("0123456789abcdef".utf8)

    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// `value` in as many digits as its type has.
    package static func encode(_ value: some FixedWidthInteger & UnsignedInteger) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(value.bitWidth / 4)
        for shift in stride(from: value.bitWidth - 4, through: 0, by: -4) {
            text.append(digits[Int(truncatingIfNeeded: value >> shift & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The number that 16 digits spell, or nil.
    package static func number(_ text: Substring) -> UInt64? { number(text.utf8Span.span) }

    /// The number that 16 digits in UTF-8 spell, or nil.
    package static func number(_ text: Span<UInt8>) -> UInt64? {
        guard text.count == 16 else { return nil }
        var number: UInt64 = 0
        for place in text.indices {
            guard let digit = value(text[place]) else { return nil }
            number = number << 4 | UInt64(digit)
        }
        return number
    }

    /// The bytes that `text` spells, or nil where it is not an even number of lower-case digits.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let units = Array(text.utf8)
        guard units.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(units.count / 2)
        for place in stride(from: 0, to: units.count, by: 2) {
            guard let high = value(units[place]), let low = value(units[place + 1]) else {
                return nil
            }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}

extension Hash128 {
    /// Its 32 hexadecimal digits.
    package var hexDigits: String { hexDigits(after: []) }

    /// The same behind other ASCII.
    package func hexDigits(after prefix: [UInt8]) -> String {
        // Safe: all that is counted was written, one behind the other.
        unsafe String(unsafeUninitializedCapacity: prefix.count + 32) { buffer in
            for (place, byte) in prefix.enumerated() { unsafe buffer[place] = byte }
            for place in 0..<32 {
                let word = place < 16 ? high : low
                let digit = Int(truncatingIfNeeded: word >> (60 - UInt64(place & 15) * 4) & 15)
                unsafe buffer[prefix.count + place] = Hex.digits[digit]
            }
            return prefix.count + 32
        }
    }

    /// What 32 digits spell, or nil.
    package init?(hexDigits text: String) { self.init(hexDigits: text.utf8Span.span) }

    /// What 32 digits in UTF-8 spell, or nil.
    package init?(hexDigits text: Span<UInt8>) {
        guard text.count == 32, let high = Hex.number(text.extracting(first: 16)),
            let low = Hex.number(text.extracting(last: 16))
        else { return nil }
        self.init(high: high, low: low)
    }
}
