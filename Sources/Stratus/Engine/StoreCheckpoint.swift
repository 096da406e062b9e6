internal import StratusBytes
internal import StratusFiles
internal import StratusIndex
internal import StratusJournal

/// What a fold is besides the tables of its index, at one place of the journal: what a manifest
/// keeps as the state of a checkpoint (`Formats/Index.md`, "State").
struct StoreCheckpoint: Sendable {
    var position: JournalPosition
    var schema: Schema
    var zoneCount: UInt32
    var userCount: UInt32

    /// Of the fold as it is now.
    init(_ state: StoreFold.State, at position: JournalPosition) {
        self.position = position
        schema = state.schema
        zoneCount = state.zoneCount
        userCount = state.userCount
    }

    /// As a manifest keeps it, with the tables that `index` has by now.
    func manifest(of index: OrderedIndex) -> Manifest.Checkpoint {
        var writer = ByteWriter()
        writer.varint(zoneCount)
        writer.varint(userCount)
        var names = ByteWriter()
        schema.whole.write(to: &names)
        writer.varint(names.count)
        writer.append(names.bytes)
        writer.append(index.description)
        return Manifest.Checkpoint(
            position: position, files: index.fileNames, state: writer.bytes)
    }
}

extension StoreFold.State {
    /// An empty state.
    init(_ store: TableStore, _ released: ReleasedFiles) {
        index = OrderedIndex(in: store)
        lease = IndexLease(released)
    }

    /// What a manifest kept; nil where it makes no sense.
    init?(_ checkpoint: Manifest.Checkpoint, _ store: TableStore, _ released: ReleasedFiles) {
        let span = checkpoint.state.span
        var cursor = ByteCursor()
        do {
            zoneCount = try cursor.varint32(span)
            userCount = try cursor.varint32(span)
            let length = try cursor.count(span, upTo: cursor.remaining(span))
            let names = try cursor.range(span, count: length)
            schema = Schema.empty.adding(try SchemaAddition(span.extracting(names)))
            index = try OrderedIndex(
                description: span.extracting(cursor.position..<span.count), file: "manifest",
                in: store)
        } catch {
            return nil
        }
        guard Set(index.fileNames) == Set(checkpoint.files) else { return nil }
        lease = IndexLease(released)
        end = checkpoint.position.offset
        lastTime = checkpoint.position.totals.lastTime
    }
}
