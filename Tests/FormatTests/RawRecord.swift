import StratusBytes

/// The payload of a record's entry, encoded from `Formats/Record.md` and by no code of the store, so
/// that every part of it can be false.
struct RawRecord: Sendable {
    struct Field: Sendable {
        var number: UInt16
        var kind: UInt8
        var value: [UInt8]
    }

    /// Those of the writer's schema: `Note` is name 0, and names 1 and 2 are fields.
    var type: UInt64 = 0
    var modifier: UInt64 = 1
    var modified: Int64 = 1_767_225_700_000
    /// With a value the flag 64 is set: the record was moved here from zone 1.
    var created: Int64?
    var name = Array("hostile".utf8)
    var parent: [UInt8]?
    /// Beside those that follow from the rest.
    var flags: UInt64 = 0
    /// A list of index rows; nil: none.
    var indexRows: [UInt8]?
    /// What the flags 1024, 2048 and 4096 add, which stand in ``flags``.
    var shares: [UInt8] = []
    /// A block of extensions; nil: none.
    var extensions: [UInt8]?
    var fields: [Field] = []
    /// Of the field table; nil: what is right.
    var count: Int?
    var width: Int?
    var ends: [Int]?
    /// What stands behind the last value.
    var rest: [UInt8] = []

    var payload: [UInt8] {
        var writer = ByteWriter()
        let stated: UInt64 =
            (parent == nil ? 0 : 4) | (created == nil ? 0 : 64) | (extensions == nil ? 0 : 256)
            | (indexRows == nil ? 0 : 512)
        writer.varint(flags | stated)
        writer.varint(type)
        writer.varint(modifier)
        writer.signedVarint(modified)
        if let created {
            writer.varint(modifier)
            writer.signedVarint(created)
        }
        writer.varint(name.count)
        writer.append(name)
        if let parent {
            writer.varint(parent.count)
            writer.append(parent)
        }
        if created != nil {
            writer.varint(1)
            writer.varint(600)
        }
        if let indexRows { writer.append(indexRows) }
        writer.append(shares)
        if let extensions { writer.append(extensions) }
        writer.varint(count ?? fields.count)
        if !fields.isEmpty { writeTable(to: &writer) }
        for field in fields { writer.append(field.value) }
        writer.append(rest)
        return writer.bytes
    }

    private func writeTable(to writer: inout ByteWriter) {
        var right = [0]
        for field in fields { right.append(right[right.count - 1] + field.value.count) }
        let width = width ?? (right[fields.count] < 256 ? 1 : right[fields.count] < 65_536 ? 2 : 4)
        writer.uint8(UInt8(width))
        for field in fields {
            writer.uint16(field.number)
            writer.uint8(field.kind)
        }
        for end in ends ?? Array(right.dropFirst()) {
            for byte in 0..<width { writer.uint8(UInt8(truncatingIfNeeded: end >> (byte * 8))) }
        }
    }

    /// A number as a varint.
    static func varint(_ value: UInt64) -> [UInt8] {
        var writer = ByteWriter()
        writer.varint(value)
        return writer.bytes
    }

    /// A list of these elements.
    static func list(_ elements: [[UInt8]]) -> [UInt8] {
        elements.reduce(varint(UInt64(elements.count))) { $0 + varint(UInt64($1.count)) + $1 }
    }
}
