import FoundationEssentials
import Stratus
import StratusGateway
import StratusLanguage

/// Finds records by the values of their fields.
enum Find {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let query = try invocation.query()
        let fields = try invocation.fields()
        let container = try await invocation.openStore()
        let zone = try invocation.value("zone").map { try invocation.zoneID($0, in: container) }
        let database = try await invocation.readDatabase(of: container)
        try await warn(of: query, in: container, output)
        if invocation.has("explain") {
            try write(database.explanation(of: query, inZoneWith: zone), to: output)
            return .ok
        }
        if invocation.has("count") || invocation.has("total") {
            try invocation.refuseListing()
            let totals = try database.totals(
                of: invocation.value("total"), matching: query, inZoneWith: zone)
            try write(totals, of: invocation.value("total"), to: output)
            return .ok
        }
        return try list(query, in: zone, of: database, fields, invocation, output)
    }

    /// Names what no record can have: a name that was mistyped must not look like a query that finds
    /// nothing.
    private static func warn(
        of query: Query, in container: Container, _ output: Output
    ) async throws {
        let type = query.recordType
        if type == Record.userRecordType || type == Record.shareType { return }
        let types = try await container.schemaDocument().types
        guard let declared = types.first(where: { $0.name.text == type }) else {
            output.warning("query.type", "the store has no record type \(type)")
            return
        }
        let fields = Set(declared.fields.map(\.name.text))
        for field in query.ownFields where !fields.contains(field) {
            output.warning("query.field", "the record type \(type) has no field \(field)")
        }
    }

    /// Lists the records that the query finds.
    private static func list(
        _ query: Query, in zone: RecordZone.ID?, of database: DatabaseSnapshot,
        _ fields: [String]?, _ invocation: Invocation, _ output: Output
    ) throws -> ExitCode {
        let columns = ["record", "type", "tag"] + (zone == nil ? ["zone"] : []) + (fields ?? [])
        try output.header(
            schema: "stratus.query/1",
            columns: columns.map { Output.escaped($0) }.joined(separator: "  "))
        let listing = QueryListing(
            database: database, query: query, zone: zone, fields: fields,
            limit: try invocation.limit() ?? .max, isReversed: invocation.has("reverse"),
            skipsDamaged: invocation.has("skip-damaged"))
        var hasSkipped = false
        try listing.forEach { damage in
            output.skipped(damage)
            hasSkipped = hasSkipped || !damage.isEmpty
        } _: { record in
            try output.result(
                "record", record.json,
                text: text(of: record, withZone: zone == nil, fields ?? [], output))
        }
        return hasSkipped ? .partial : .ok
    }

    private static func text(
        of record: Record, withZone: Bool, _ fields: [String], _ output: Output
    ) -> String {
        var columns = [record.recordID.recordName, record.recordType, record.recordChangeTag ?? ""]
        if withZone { columns.append(record.recordID.zoneID.text) }
        columns += fields.map { record[$0]?.text(output) ?? "-" }
        return columns.map { Output.escaped($0) }.joined(separator: "  ")
    }

    private static func text(_ index: RecordIndex) -> String {
        let fields = index.fields.joined(separator: ", ")
        if index.isUnique { return "\(index.recordType) (\(fields)) UNIQUE" }
        let options = index.options.map(\.rawValue).sorted().joined(separator: " ")
        return index.fields.count == 1
            ? "\(index.recordType).\(fields) \(options)" : "\(index.recordType) (\(fields))"
    }

    private static func write(_ explanation: QueryExplanation, to output: Output) throws {
        let index = explanation.index.map(text)
        let intersected = explanation.intersected.map(text)
        let records = explanation.isByName ? "the records it names" : "all records of the type"
        let missing = explanation.missing.map { "\($0.field) \($0.option.rawValue)" }
        var object: JSONObject = ["isInOrder": .boolean(explanation.isInOrder)]
        if explanation.isByName { object.append("isByName", .boolean(true)) }
        object.append("index", index.map { .string($0) })
        if !intersected.isEmpty {
            object.append("intersected", .array(intersected.map { .string($0) }))
        }
        object.append("missing", .array(missing.map { .string($0) }))
        try output.object("explanation", object)
        let others = intersected.map { " and index \($0)" }.joined()
        try Show.write(
            [
                ("reads", index.map { "index \($0)\(others)" } ?? records),
                ("in the order asked for", explanation.isInOrder ? "yes" : "no"),
                ("would help", missing.isEmpty ? "nothing" : missing.joined(separator: ", ")),
            ], to: output)
    }

    private static func write(
        _ totals: QueryTotals, of field: String?, to output: Output
    ) throws {
        guard let field else {
            return try output.result(
                "count", ["count": .integer(totals.count)], text: String(totals.count))
        }
        var object: JSONObject = [
            "field": .string(field), "count": .integer(totals.count),
            "valueCount": .integer(totals.valueCount),
        ]
        object.append("sum", totals.sum?.json)
        object.append("minimum", totals.minimum?.json)
        object.append("maximum", totals.maximum?.json)
        try output.object("totals", object)
        func text(_ value: RecordValue?) -> String { value?.text(output) ?? "none" }
        try Show.write(
            [
                ("records", String(totals.count)), ("values", String(totals.valueCount)),
                ("sum", text(totals.sum)), ("minimum", text(totals.minimum)),
                ("maximum", text(totals.maximum)),
            ], to: output)
    }
}

extension Invocation {
    /// The query that TYPE, PREDICATE and `--sort` are.
    fileprivate func query() throws -> Query {
        let predicate = try optionalArgument("PREDICATE").map {
            try Query.Predicate($0, arguments: [])
        }
        return Query(
            recordType: argument("TYPE"), predicate: predicate ?? .all,
            sortDescriptors: try allValues("sort").map(sortDescriptor))
    }

    private func sortDescriptor(_ text: String) throws -> Query.SortDescriptor {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        let orders = ["asc": true, "desc": false]
        let ascending = parts.count == 1 ? true : orders[parts[1]]
        guard parts.count <= 2, let ascending, !parts[0].isEmpty else {
            throw ToolError.usage(
                "bad-value", "--sort takes FIELD, FIELD:asc or FIELD:desc, not '\(text)'")
        }
        return Query.SortDescriptor(key: parts[0], ascending: ascending != has("reverse"))
    }

    /// Fails where an option is about single records, none of which `--count` and `--total` write.
    fileprivate func refuseListing() throws {
        for option in ["sort", "fields", "limit", "reverse", "skip-damaged"] where has(option) {
            throw ToolError.usage(
                "contradiction",
                "--count and --total are about all records: --\(option) does not go with them")
        }
    }
}

extension Invocation {
    /// The fields that `--fields` names; nil: all.
    func fields() throws(ToolError) -> [String]? {
        guard let text = value("fields") else { return nil }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard names.allSatisfy({ !$0.isEmpty }) else {
            throw ToolError.usage(
                "bad-value", "--fields takes names with a comma between two, not '\(text)'")
        }
        return names
    }
}
