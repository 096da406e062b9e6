extension CommandTable {
    /// What every command takes. ``Invocation`` has a property for each.
    package static let optionsOfEveryCommand: [Command.Option] = [
        .init("json", "write one JSON object per line"),
        .init(
            "output", letter: "o", taking: .init("FILE|-", .path),
            "write to FILE instead of standard output (-)"),
        .init("header", "begin with a line that names what follows"),
        .init("quiet", letter: "q", "write data and errors only"),
        .init(
            "progress", taking: .init("WHEN", .oneOf(Progress.Mode.allCases.map(\.rawValue))),
            "show progress on standard error (default: auto)"),
        .init("no-color", "write without colors, as with NO_COLOR or TERM=dumb set"),
        .init("no-input", "never ask"),
        .init(
            "database", taking: .init("WHICH", .oneOf(DatabaseChoice.allCases.map(\.rawValue))),
            "the database meant (default: private; of listings of the whole store, all)"),
        .init(
            "as", taking: .init("USER"), "the user who asks (default: \(Invocation.defaultUser))"
        ),
        .init("strict", "refuse a store whose last commits may be lost"),
        .init("help", letter: "h", "show the help of the command"),
        .init("version", "show the version of the tool"),
    ]
}

/// What commands take that write a list. ``Listing`` does what they say.
extension Command.Option {
    static let reverse = Self("reverse", "the last one first")
    static let count = Self("count", "write only how many there are")

    /// Of a list of such things, which are named in the plural.
    static func listing(_ things: String) -> [Self] {
        [.limit("at most N \(things)"), .reverse, .count]
    }
}
