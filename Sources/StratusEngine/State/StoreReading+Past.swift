package import StratusIndex
package import StratusJournal

// Which earlier states can be read.
extension StoreReading {
    /// The state behind the last commit that begins at or before an offset.
    package func state(beginningBy offset: JournalOffset) throws(EngineError) -> PastState {
        do throws(JournalError) {
            return try view.state(beginningBy: offset, before: head)
        } catch {
            throw EngineError(error)
        }
    }

    /// The state behind the last commit whose time is not later, in microseconds since 1970.
    package func state(madeBy time: Int64) throws(EngineError) -> PastState {
        do throws(JournalError) {
            return try view.state(madeBy: time, before: head)
        } catch {
            throw EngineError(error)
        }
    }

    /// Whether a state is kept: by the policy, for a mark, or since it is the newest.
    package func keeps(_ state: PastState) -> Bool {
        state.end >= head || history.points.first(in: state) != nil
    }
}

extension NeededPoints {
    /// The first point of an earlier state that is needed; nil where none is.
    ///
    /// The state is read there: the index has what it needs, which a compaction may have made to lie
    /// behind the last entry that is left of the state.
    package func first(in state: PastState) -> JournalOffset? {
        let last = state.point.previous.rawValue
        return first(from: last, before: state.end.rawValue).map {
            $0 == last ? state.point : JournalOffset(rawValue: $0).next
        }
    }
}
