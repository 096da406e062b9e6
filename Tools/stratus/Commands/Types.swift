import Stratus
import StratusGateway
import StratusLanguage

/// `stratus types`: the record types of a store.
enum Types {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        try invocation.refuseShared()
        var listing = try Listing(invocation)
        let container = try await invocation.openStore()
        var counts: [String: Int] = [:]
        for listed in try await invocation.databases(of: container) {
            for zone in try listed.database.allRecordZones().map(\.zoneID) {
                let found = try listed.database.recordCounts(inZoneWith: zone)
                counts.merge(found, uniquingKeysWith: +)
            }
        }
        let schema = try await container.schemaDocument()
        var fields: [String: [SchemaDocument.Field]] = [:]
        for type in schema.types { fields[type.name.text] = type.fields }
        try listing.begin(output, schema: "stratus.types/1", columns: "records  type  fields")
        let names = Set(fields.keys).union(counts.keys).sorted { $0.precedes($1) }
        for name in listing.ordered(names) {
            try listing.take { try write(name, fields[name] ?? [], counts[name] ?? 0, output) }
        }
        try listing.finish(output)
        return .ok
    }

    private static func write(
        _ name: String, _ fields: [SchemaDocument.Field], _ count: Int, _ output: Output
    ) throws {
        // System fields are listed only where they have options.
        let own = fields.filter { !$0.name.text.hasPrefix("___") }
        let object: JSONObject = [
            "recordType": .string(name), "records": .integer(count),
            "fields": .array(
                own.map {
                    ["fieldName": .string($0.name.text), "type": .string($0.type.description)]
                }),
        ]
        let texts = own.map { Output.escaped("\($0.name.text) \($0.type)") }
        try output.result(
            "recordType", object,
            text: "\(count)  \(Output.escaped(name))  \(texts.joined(separator: ", "))")
    }
}
