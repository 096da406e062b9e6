internal import StratusEngine

extension NameRules {
    /// The fields of shares that CloudKit names.
    private static let shareFields: Set<String> = [
        "cloudkit.title", "cloudkit.thumbnailImageData", "cloudkit.type",
    ]

    /// Whether it is one of them.
    static func isShareField(_ name: String) -> Bool {
        name.utf8.count > 12 && shareFields.contains(name)
    }

    /// Whether a type may have the name: those of shares have a point in theirs.
    static func isRecordType(_ name: String) -> Bool {
        isTypeName(name) || name == Record.shareType
    }

    /// Whether a field of a record of that type may have the name.
    static func isField(_ name: String, ofType type: String) -> Bool {
        isTypeName(name) || type == Record.shareType && isShareField(name)
    }
}
