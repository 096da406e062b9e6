/// Why bytes could not be read. The place is known to the caller, who adds file and offset.
@usableFromInline package enum FormatError: Error, Equatable {
    /// The bytes end before the value does.
    case truncated
    /// A variable-length integer is longer than its type or not in its shortest form.
    case integer
    /// Bytes that should be UTF-8 are not.
    case text
    /// A value outside what the format allows; the word names the field.
    case value(StaticString)
    /// Something that a later version of the format added, and a reader must know.
    case newer(StaticString)

    @usableFromInline package static func == (left: FormatError, right: FormatError) -> Bool {
        left.description == right.description
    }
}

extension FormatError: CustomStringConvertible {
    @usableFromInline package var description: String {
        switch self {
        case .truncated: "the bytes end too early"
        case .integer: "an integer is too long or not in its shortest form"
        case .text: "text is not UTF-8"
        case .value(let field): "\(field) has a value that the format does not allow"
        case .newer(let what): "\(what) of a newer format"
        }
    }
}
