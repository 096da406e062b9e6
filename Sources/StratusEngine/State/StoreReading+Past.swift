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
        state.end >= head || history.points.isNeeded(during: state)
    }
}

extension NeededPoints {
    /// Whether a point lies in a state.
    package func isNeeded(during state: PastState) -> Bool {
        isNeeded(from: state.point.previous.rawValue, replacedAt: state.end.rawValue)
    }
}
