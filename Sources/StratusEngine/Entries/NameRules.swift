/// What names may be: `Formats/README.md`, "Names" (CloudKit's rules).
package enum NameRules {
    package static let limit = 255
    /// Fields that would hide a property of the record.
    private static let reserved: Set<String> = [
        "creationDate", "creatorUserRecordID", "etag", "lastModifiedUserRecordID",
        "modificationDate", "modifiedByDevice", "recordChangeTag", "recordID", "recordType",
    ]

    /// A record's or a zone's name: ASCII, 1 to 255 characters, not beginning with `_`.
    package static func isItemName(_ name: String) -> Bool {
        let units = name.utf8
        return !units.isEmpty && units.count <= limit && units.first != UInt8(ascii: "_")
            && units.allSatisfy { $0 < 0x80 && $0 >= 0x20 && $0 != 0x7f }
    }

    /// What a reference may point to: also users' records, whose names begin with `_`.
    package static func isTargetName(_ name: String) -> Bool { 1...limit ~= name.utf8.count }

    /// A type's or a field's name: letters, digits and `_`, first a letter.
    package static func isTypeName(_ name: String) -> Bool {
        let units = name.utf8
        guard let first = units.first, units.count <= limit else { return false }
        return isLetter(first)
            && units.allSatisfy { isLetter($0) || isDigit($0) || $0 == UInt8(ascii: "_") }
    }

    /// Whether a field of this name would hide one of the record's own properties.
    package static func isReserved(_ name: String) -> Bool { reserved.contains(name) }

    private static func isLetter(_ unit: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(unit | 0x20)
    }

    private static func isDigit(_ unit: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(unit)
    }
}
