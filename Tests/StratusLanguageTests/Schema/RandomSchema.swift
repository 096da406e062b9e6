import StratusLanguage
import Support

/// Random documents, which a seed determines.
struct RandomSchema {
    private var random: SeededGenerator
    private let names: [String]

    private static let plainNames = ["a", "b", "c", "Dd", "e_1", "type", "List", "grant", "ON"]
    private static let unusualNames = [
        "___recordID", "cloudkit.share", "Users", "1", " ", "é", "e\u{301}", "//", "/*", "--", "'",
        "\u{0}", "\t", "🚀🚀", ";", "stratus:", String(repeating: "long", count: 100),
    ]

    /// An unusual one also has names that can be written but break rules.
    init(seed: UInt64, isUnusual: Bool) {
        random = SeededGenerator(seed: seed)
        names = isUnusual ? Self.plainNames + Self.unusualNames : Self.plainNames
    }

    /// With names that may be there twice.
    mutating func document() -> Schema {
        var document = Schema(roles: list(3) { $0.name() })
        document.types = list(4) { $0.type() }
        document.indexes = list(3) { random in
            .init(
                random.name(), isUnique: random.random.oneIn(2), on: random.name(),
                columns: [random.column()] + random.list(3) { $0.column() })
        }
        document.collations = list(3) { random in
            .init(
                random.pick(Schema.Collation.allCases), on: random.name(),
                fields: [random.name()] + random.list(2) { $0.name() })
        }
        return document
    }

    /// With names that are there once in each list.
    mutating func distinctDocument() -> Schema {
        var document = document()
        document.roles = Self.distinct(document.roles, by: \.self)
        document.types = Self.distinct(document.types, by: \.name)
        for place in document.types.indices {
            document.types[place].fields = Self.distinct(document.types[place].fields, by: \.name)
        }
        document.indexes = Self.distinct(document.indexes, by: \.name)
        // One of a type is enough for a field not to be in two.
        document.collations = Self.distinct(document.collations, by: \.type)
        return document
    }

    private static func distinct<Item>(
        _ items: [Item], by name: (Item) -> SchemaName
    ) -> [Item] {
        var seen: Set<SchemaName> = []
        return items.filter { seen.insert(name($0)).inserted }
    }
}

extension RandomSchema {
    private mutating func type() -> Schema.RecordType {
        Schema.RecordType(
            name(),
            fields: list(6) { random in
                .init(random.name(), random.fieldType(), random.set(Schema.Option.allCases))
            },
            grants: list(4) { random in
                let permission = random.pick(Schema.Permission.allCases)
                let others = random.set(Schema.Permission.allCases)
                return .init(others.union([permission]), to: random.name())
            })
    }

    private mutating func fieldType() -> Schema.FieldType {
        Schema.FieldType(
            pick(Schema.Element.allCases), isList: random.oneIn(3), isEncrypted: random.oneIn(4))
    }

    private mutating func column() -> Schema.Index.Column {
        Schema.Index.Column(name(), isDescending: random.oneIn(3))
    }

    private mutating func name() -> SchemaName { SchemaName(pick(names)) }

    private mutating func pick<Item>(_ items: [Item]) -> Item { items[random.below(items.count)] }

    private mutating func set<Item: Hashable>(_ items: [Item]) -> Set<Item> {
        Set(items.filter { _ in random.oneIn(2) })
    }

    private mutating func list<Item>(
        _ limit: Int, _ item: (inout RandomSchema) -> Item
    ) -> [Item] {
        (0..<random.below(limit + 1)).map { _ in item(&self) }
    }
}
