internal import StratusBytes
internal import StratusFiles
package import StratusIndex
package import StratusJournal

/// What a fold is besides the tables of its index, at one place of the journal: what a manifest
/// keeps as the state of a checkpoint (`Formats/Index.md`, "State").
package struct StoreCheckpoint: Sendable {
    package var position: JournalPosition
    package var schema: Schema
    package var zoneCount: UInt32
    package var userCount: UInt32
    package var deadBytes: Int
    package var history: KeptHistory
    package var deletions: KeptWindow
    package var indexes: IndexTable

    /// Of the state's form and of what the keyspaces hold: another one is of no use.
    package static let version: UInt32 = 1

    /// Of the fold as it is now.
    package init(_ state: FoldState, at position: JournalPosition) {
        self.position = position
        schema = state.schema
        zoneCount = state.zoneCount
        userCount = state.userCount
        deadBytes = state.deadBytes
        history = state.history
        deletions = state.deletions
        indexes = state.indexes
    }

    /// As a manifest keeps it, with the tables that `index` has by now. Nil where these hold
    /// something from behind the position: what follows a checkpoint is applied to its tables, and
    /// once only.
    package func manifest(of index: OrderedIndex) -> Manifest.Checkpoint? {
        guard index.leftMemoryThrough < position.offset.rawValue else { return nil }
        var writer = ByteWriter()
        writer.varint(Self.version)
        writer.varint(zoneCount)
        writer.varint(userCount)
        writer.varint(max(0, min(deadBytes, Int(JournalOffset.limit))))
        history.write(to: &writer)
        deletions.write(to: &writer)
        indexes.write(to: &writer)
        var names = ByteWriter()
        schema.whole.write(to: &names)
        writer.varint(names.count)
        writer.append(names.bytes)
        NamesLocation.write(schema.locations, to: &writer)
        writer.append(index.description)
        return Manifest.Checkpoint(
            position: position, files: index.fileNames, state: writer.bytes)
    }
}

extension FoldState {
    /// An empty state.
    package init(_ store: TableStore, firstNumber: UInt64, _ released: ReleasedFiles) {
        index = OrderedIndex(in: store, firstNumber: firstNumber)
        lease = FileLease(released)
    }

    /// What a manifest kept; nil where it is of another version or makes no sense. New tables get
    /// numbers from `firstNumber` on.
    package init?(
        _ checkpoint: Manifest.Checkpoint, _ store: TableStore, firstNumber: UInt64 = 1,
        _ released: ReleasedFiles
    ) {
        let span = checkpoint.state.span
        var cursor = ByteCursor()
        do {
            guard try cursor.varint32(span) == StoreCheckpoint.version else { return nil }
            let zoneCount = try cursor.varint32(span)
            let userCount = try cursor.varint32(span)
            deadBytes = try cursor.count(span, upTo: Int(JournalOffset.limit))
            history = try KeptHistory(span, &cursor)
            deletions = try KeptWindow(span, &cursor)
            indexes = try IndexTable(span, &cursor)
            let length = try cursor.count(span, upTo: cursor.remaining(span))
            let names = try cursor.range(span, count: length)
            let schema = try SchemaAddition(span.extracting(names))
            let locations = try NamesLocation.list(
                span, &cursor, nameCount: schema.names.count)
            guard locations.last?.offset ?? .zero < checkpoint.position.offset else { return nil }
            numbers = try StoreNumbers(
                schema: schema, at: locations, zoneCount: zoneCount, userCount: userCount)
            index = try OrderedIndex(
                description: span.extracting(cursor.position..<span.count), file: "manifest",
                in: store)
            index.points = history.points
            index.dropped = indexes.dropped
        } catch {
            return nil
        }
        guard Set(index.fileNames) == Set(checkpoint.files) else { return nil }
        index.keepNumbers(before: firstNumber)
        lease = FileLease(released)
        end = checkpoint.position.offset
        lastTime = checkpoint.position.totals.lastTime
    }
}
