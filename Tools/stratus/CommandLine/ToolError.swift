package import StratusGateway

/// Why a command ends without having done what it was asked, in the words of its user.
///
/// All text is raw: what writes it escapes it.
package struct ToolError: Error, Equatable, Sendable {
    package var code: ExitCode
    /// For programs to branch on, such as `frame.crc`; never renamed.
    package var id: String
    package var message: String
    /// What to try next.
    package var hint: String?
    package var file: String?
    /// A place in `file`.
    package var byte: UInt64?
    /// A place in the journal.
    package var offset: UInt64?

    package init(
        _ code: ExitCode, id: String, _ message: String, hint: String? = nil, file: String? = nil,
        byte: UInt64? = nil, offset: UInt64? = nil
    ) {
        self.code = code
        self.id = id
        self.message = message
        self.hint = hint
        self.file = file
        self.byte = byte
        self.offset = offset
    }

    package static func usage(
        _ id: String, _ message: String, hint: String? = nil
    ) -> ToolError {
        ToolError(.usage, id: "usage." + id, message, hint: hint)
    }
}

extension ToolError {
    /// Whether it is about a store as a whole.
    var isOfStore: Bool {
        switch code {
        case .noStore, .locked, .newerFormat, .noSpace, .permission: true
        default: false
        }
    }

    /// The object that `--json` writes to standard error.
    package var json: JSONObject {
        var object: JSONObject = [
            "code": .integer(Int(code.number)), "id": .string(id), "message": .string(message),
        ]
        object.append("file", file.map(JSONValue.string))
        object.append("byte", byte.map { .integer(Int(clamping: $0)) })
        object.append("offset", offset.map(JSONValue.offset))
        object.append("hint", hint.map(JSONValue.string))
        return object
    }

    /// Where it is, as the text of an error ends: ` (file 000001.seg, byte 4096, offset 9000)`.
    package var place: String {
        var parts: [String] = []
        if let file { parts.append("file \(file)") }
        if let byte { parts.append("byte \(byte)") }
        if let offset { parts.append("offset \(offset)") }
        return parts.isEmpty ? "" : " (" + parts.joined(separator: ", ") + ")"
    }
}
