internal import StratusEngine
internal import StratusIndex
internal import StratusJournal
internal import StratusLanguage

/// Deletes all zones of all databases, and forgets what the schema says of types and fields: one commit,
/// after which the store is like a new one that knows its users.
struct SchemaReset: Transaction {
    func draft(
        _ reading: StoreReading, _ context: PreparationContext, sink: PartSink
    ) throws(EngineError) -> Draft? {
        // Only a serial preparation excludes that a zone is made, or a field, meanwhile.
        guard context.isSerial else { return nil }
        var draft = Draft(reading)
        var places: [ZonePlace] = []
        try reading.scan(KeySpace.zones.key().asPrefix) { _, value throws(EngineError) in
            if let place = try ZonePlace.decoded(value), place.isAlive { places.append(place) }
            return true
        }
        for place in places {
            _ = try draft.flushIfFull(context, sink)
            let name = try reading.zoneEntry(place).name
            let entry = ZoneEntry(place, state: .deleted, name: name)
            try draft.buffer.add(.zone, zone: entry.number) { entry.write(to: &$0) }
        }
        for index in reading.indexes.all where index.state != .dropped {
            _ = try draft.flushIfFull(context, sink)
            try draft.drop(index)
        }
        try forgetKinds(reading.schema, context, sink, &draft)
        try draft.add(SchemaDocument(), context)
        return draft
    }

    /// Names keep their numbers, which stand in the records of the past.
    private func forgetKinds(
        _ schema: Schema, _ context: PreparationContext, _ sink: PartSink, _ draft: inout Draft
    ) throws(EngineError) {
        var columns = schema.whole.kinds[...]
        // Half of what an entry has room for.
        let count = max(1, context.payloadLimit / SchemaAddition.columnLength / 2)
        while !columns.isEmpty {
            _ = try draft.flushIfFull(context, sink)
            var addition = SchemaAddition(firstNumber: UInt32(schema.nameCount))
            addition.columns = columns.prefix(count).map { ($0.column, nil) }
            columns = columns.dropFirst(count)
            let entry = addition
            try draft.buffer.add(.names, limit: context.payloadLimit) { entry.write(to: &$0) }
        }
    }
}
