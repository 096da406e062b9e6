import StratusGateway

/// What `--limit`, `--reverse` and `--count` make of a list: how much of it is written, from which end,
/// or only how long it is.
struct Listing {
    let isCount: Bool
    private let isReversed: Bool
    private let limit: Int
    /// How many were taken.
    private(set) var found = 0

    init(_ invocation: Invocation) throws(ToolError) {
        try invocation.refuse("count", with: ["limit", "reverse"])
        isCount = invocation.has("count")
        isReversed = invocation.has("reverse")
        limit = try invocation.limit() ?? .max
    }

    /// How many more are wanted.
    var left: Int { limit - found }
    var isFull: Bool { left == 0 }

    /// The things in the order in which they are wanted.
    func ordered<Thing>(_ things: [Thing]) -> [Thing] { isReversed ? things.reversed() : things }

    /// Begins the list, which has no header where it is only counted.
    func begin(_ output: Output, schema: String, columns: String) throws {
        if !isCount { try output.header(schema: schema, columns: columns) }
    }

    /// Takes one more, which `write` writes: not where it is only counted, or not wanted any more.
    mutating func take(_ write: () throws -> Void) throws {
        if isFull { return }
        found += 1
        if !isCount { try write() }
    }

    /// Ends the list.
    func finish(_ output: Output) throws {
        guard isCount else { return }
        try output.result("count", ["count": .integer(found)], text: String(found))
    }
}
