import StratusBytes
import StratusEngine
import StratusFiles
import StratusIndex
import StratusJournal

/// The indexes that are declared in a store, and the rows of those that are complete, as the journal
/// says: what `expected.txt` holds of them.
enum IndexDump {
    static func lines(_ storage: any Storage) throws -> [String] {
        guard let manifest = try Journal.newestManifest(in: storage) else { return [] }
        let foundation = StoreFoundation(
            storage, memoryLimit: 64 << 20, threads: IOThreads(count: 1))
        let fold = try foundation.beginnings(of: manifest, spills: false).empty
        var reader = JournalReader(manifest, in: storage, fold: fold)
        try reader.read(.toTheEnd)
        let state = reader.fold.committed
        return try state.indexes.all.flatMap { try lines($0, state) }
    }

    private static func lines(_ index: FieldIndex, _ state: FoldState) throws -> [String] {
        let type = state.schema.name(index.type) ?? ""
        let fields = index.columns.map { column in
            (state.schema.columnName(column) ?? "")
                + (index.binaryColumns.contains(column) ? " binary" : "")
        }.joined(separator: ",")
        var lines = ["index \(index.number) \(type) \(fields) \(index.form) \(index.state)"]
        // Others may have rows or not.
        if index.state != .complete { return lines }
        for zone in 0..<state.zoneCount {
            let range = IndexKey.declared(zone + 1, index.number).asPrefix
            var cursor = state.index.cursor(range, at: .max, .blocking)
            while let (key, _) = try cursor.next() {
                let bytes = (9..<key.count).map { key.byte(at: $0) }
                let (value, name) = (Array(bytes.dropLast(16)), Array(bytes.suffix(16)))
                lines.append(
                    "  row zone \(zone + 1) value \(Hex.encode(value)) name \(Hex.encode(name))")
            }
        }
        return lines
    }
}
