internal import StratusBytes
package import StratusJournal

/// Checks that entries use no number of a zone, share, user, type or field before an earlier entry
/// has defined it: `Formats/Record.md`, "Validity".
package struct NumberCheck {
    private var numbers = StoreNumbers()
    private var indexes = IndexTable.empty
    /// The first fault of the entry being checked.
    package private(set) var fault: StaticString?
    /// False behind an entry that could not be read, which may have defined numbers.
    package var isReliable = true

    /// The greatest numbers that were used, known or not.
    package private(set) var greatest = (zone: UInt32(0), user: UInt32(0), nameCount: 0)

    package mutating func beginEntry() { fault = nil }

    package mutating func useZone(_ number: UInt32) {
        greatest.zone = max(greatest.zone, number)
        if !numbers.hasZone(number) { note("zone number") }
    }

    package mutating func useUser(_ number: UInt32) {
        greatest.user = max(greatest.user, number)
        if !numbers.hasUser(number) { note("user number") }
    }

    package mutating func useType(_ number: UInt32) {
        greatest.nameCount = max(greatest.nameCount, Int(number) + 1)
        if numbers.schema.name(number) == nil { note("type number") }
    }

    /// Shares have numbers of the zones' sequence.
    package mutating func use(_ membership: ShareMembership?) {
        if let share = membership?.share, share != 0 { useZone(share) }
    }

    package mutating func use(_ fields: StoredFields) {
        greatest.nameCount = max(greatest.nameCount, fields.nameCount)
        do throws(FormatError) { try fields.checkNumbers(numbers.schema) } catch { note(error) }
    }

    package mutating func define(_ zone: ZoneEntry) {
        do throws(FormatError) { try numbers.add(zone) } catch { note(error) }
    }

    package mutating func define(_ share: ShareEntry) {
        do throws(FormatError) { try numbers.add(share) } catch { note(error) }
    }

    package mutating func define(_ user: UserEntry) {
        do throws(FormatError) { try numbers.add(user) } catch { note(error) }
    }

    /// A preamble says of the names what the entries before it say.
    package mutating func use(_ preamble: SchemaPreamble) {
        if !preamble.agrees(with: numbers.schema) { note("preamble") }
    }

    package mutating func define(_ names: SchemaAddition, at offset: JournalOffset) {
        do throws(FormatError) {
            try numbers.add(names, at: offset)
        } catch {
            note(error)
            // What follows may use the numbers that these names were to have.
            isReliable = false
        }
    }

    package mutating func define(_ index: FieldIndex, at offset: JournalOffset) {
        do throws(FormatError) {
            indexes = try indexes.setting(index, at: offset)
        } catch {
            note(error)
            // What follows may use the number that this index was to have.
            isReliable = false
        }
    }

    private mutating func note(_ error: FormatError) {
        if case .value(let what) = error { note(what) }
    }

    private mutating func note(_ what: StaticString) {
        if isReliable, fault == nil { fault = what }
    }
}
