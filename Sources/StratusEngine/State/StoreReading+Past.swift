package import StratusIndex
package import StratusJournal

// Which earlier states can be read.
extension StoreReading {
    /// The state behind the last commit that ends at or before a place of the journal.
    package func state(endingBy place: JournalOffset) throws(EngineError) -> PastState {
        do throws(JournalError) {
            return try view.state(endingBy: place, before: head)
        } catch {
            throw EngineError(error)
        }
    }

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

    /// From where on the policy keeps every state; nil where it keeps none.
    package var historyFloor: JournalOffset? {
        get throws(EngineError) {
            let start = history.start
            switch history.policy {
            case .none: return nil
            case .everything: return start
            case .bytes(let count):
                let units = UInt64(count / JournalOffset.unit)
                return max(
                    start, JournalOffset(rawValue: head.rawValue - min(units, head.rawValue)))
            case .age(let microseconds):
                let (time, overflow) = lastTime.subtractingReportingOverflow(microseconds)
                return overflow ? start : max(start, try state(madeBy: time).point)
            }
        }
    }

    /// Whether a state is kept: by the policy, for a mark, or since it is the newest.
    package func keeps(_ state: PastState) throws(EngineError) -> Bool {
        if state.end >= head { return true }
        let floor = try historyFloor
        return history.points(floor: floor).isNeeded(during: state)
    }
}

extension NeededPoints {
    /// Whether a point lies in a state.
    package func isNeeded(during state: PastState) -> Bool {
        isNeeded(from: state.point.previous.rawValue, replacedAt: state.end.rawValue)
    }
}
