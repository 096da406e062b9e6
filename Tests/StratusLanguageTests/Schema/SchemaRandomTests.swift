import StratusLanguage
import Support
import Testing

struct SchemaRandomTests {
    @Test func `any document is printed so that it parses to an equal one`() throws {
        for seed in 0..<5_000 as Range<UInt64> {
            var random = RandomSchema(seed: seed, isUnusual: true)
            let document = random.document()
            let text = document.text
            #expect(try Schema(parsing: text) == document, "seed \(seed)")
            #expect(try Schema(parsing: text).text == text, "seed \(seed)")
            let sorted = document.sorted()
            #expect(try Schema(parsing: sorted.text) == sorted, "seed \(seed)")
            #expect(sorted.sorted() == sorted, "seed \(seed)")
            #expect(sorted.validate().isEmpty == document.validate().isEmpty, "seed \(seed)")
        }
    }

    @Test func `differences lead from one schema to the other`() {
        var counts: [String: Int] = [:]
        for seed in 0..<2_000 as Range<UInt64> {
            var random = RandomSchema(seed: seed, isUnusual: false)
            let (old, new) = (random.distinctDocument(), random.distinctDocument())
            let changes = Schema.differences(from: old, to: new, in: .development)
            var facts = Facts(old)
            for change in changes {
                facts.apply(change.action, of: new)
                counts[String("\(change)".prefix { $0 != " " }), default: 0] += 1
            }
            #expect(facts == Facts(new), "seed \(seed)")
            #expect(Schema.differences(from: old, to: old, in: .production) == [], "seed \(seed)")
            let sorted = Schema.differences(from: new, to: new.sorted(), in: .production)
            #expect(sorted == [], "seed \(seed)")
        }
        #expect(Set(counts.keys) == ["add", "remove", "change", "make", "grant", "revoke"])
        #expect(counts.values.allSatisfy { $0 > 100 })
    }

    @Test func `production refuses what development refuses or loses data by, and only that`() {
        for seed in 0..<2_000 as Range<UInt64> {
            var random = RandomSchema(seed: seed, isUnusual: false)
            let (old, new) = (random.distinctDocument(), random.distinctDocument())
            let development = Schema.differences(from: old, to: new, in: .development)
            let production = Schema.differences(from: old, to: new, in: .production)
            #expect(development.map(\.action) == production.map(\.action), "seed \(seed)")
            for (one, other) in zip(development, production) {
                #expect((one.effect == .safe) == (other.effect == .safe), "seed \(seed)")
                #expect(other.effect != .losesData, "seed \(seed)")
            }
        }
    }
}

/// A schema as a set of lines, to which changes can be applied one by one.
private struct Facts: Equatable {
    private var lines: Set<String> = []

    init(_ document: Schema) {
        lines = Set(document.roles.map { "role \($0)" })
        for type in document.types { add(type) }
        lines.formUnion(document.indexes.map { "\($0)" })
        for rule in document.collations {
            for field in rule.fields { set(rule.collation, field.text, rule.type.text) }
        }
    }

    mutating func apply(_ action: SchemaChange.Action, of new: Schema) {
        switch action {
        case .addRole(let role): lines.insert("role \(role)")
        case .removeRole(let role): lines.remove("role \(role)")
        case .addType(let name):
            for type in new.types where type.name.text == name { add(type) }
        case .removeType(let name): lines = lines.filter { !$0.hasPrefix("in \(name):") }
        case .addField(let field, let type, let kind),
            .changeField(let field, let type, _, let kind):
            lines = lines.filter { !$0.hasPrefix("in \(type):field \(field) ") }
            lines.insert("in \(type):field \(field) \(kind.stored)")
        case .removeField(let field, let type):
            lines = lines.filter {
                !$0.hasPrefix("in \(type):field \(field) ")
                    && !$0.hasPrefix("in \(type):option \(field) ")
            }
        case .addOptions(let options, let field, let type):
            for option in options { lines.insert("in \(type):option \(field) \(option)") }
        case .removeOptions(let options, let field, let type):
            for option in options { lines.remove("in \(type):option \(field) \(option)") }
        case .addGrant(let permissions, let role, let type):
            for permission in permissions { lines.insert("in \(type):\(role) \(permission)") }
        case .removeGrant(let permissions, let role, let type):
            for permission in permissions { lines.remove("in \(type):\(role) \(permission)") }
        case .addIndex(let index): lines.insert("\(index)")
        case .removeIndex(let index): lines.remove("\(index)")
        case .changeCollation(let field, let type, _, let collation): set(collation, field, type)
        }
    }

    private mutating func add(_ type: Schema.RecordType) {
        lines.insert("in \(type.name):")
        for field in type.fields {
            lines.insert("in \(type.name):field \(field.name) \(field.type.stored)")
            for option in field.options {
                lines.insert("in \(type.name):option \(field.name) \(option)")
            }
        }
        for grant in type.grants {
            for permission in grant.permissions {
                lines.insert("in \(type.name):\(grant.role) \(permission)")
            }
        }
    }

    private mutating func set(_ collation: Schema.Collation, _ field: String, _ type: String) {
        let line = "binary \(type).\(field)"
        if collation == .binary { lines.insert(line) } else { lines.remove(line) }
    }
}
