internal import StratusEngine
internal import StratusJournal

/// The status of a user's account: as it is now, and then each time that it changes.
///
/// A slow reader is given the latest status, not each one between. The sequence ends when its task
/// is cancelled or the container closed. In a container opened for reading only it goes on with
/// every ``Container/refresh()``.
public struct AccountStatusChanges: AsyncSequence, Sendable {
    let container: Container
    /// As the host gave it.
    let user: String

    /// The statuses from now on.
    public func makeAsyncIterator() -> Iterator { Iterator(changes: self) }

    /// The statuses, one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let changes: AccountStatusChanges
        private var last: AccountStatus?
        private var isDone = false

        fileprivate init(changes: AccountStatusChanges) { self.changes = changes }

        /// The next status that is not the last one.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(StoreError) -> AccountStatus? {
            do throws(EngineError) {
                while !isDone, !Task.isCancelled {
                    let answer = try await changes.answer()
                    if answer.status != last {
                        last = answer.status
                        return answer.status
                    }
                    let published = changes.container.published
                    guard await published.change(of: [answer.watched], since: answer.head) else {
                        break
                    }
                }
            } catch {
                isDone = true
                throw StoreError(error)
            }
            isDone = true
            return nil
        }
    }

    private struct Answer: Sendable {
        var status: AccountStatus
        var watched: ChangeSubject
        /// Where the journal ended in what was asked.
        var head: JournalOffset
    }

    private nonisolated(nonsending) func answer() async throws(EngineError) -> Answer {
        let id = try container.namedUser(user)
        return try await container.read { reading throws(EngineError) -> Answer in
            // A user who is not known has no number to be watched by.
            let number = try reading.user(id)
            return Answer(
                status: try reading.accountStatus(of: id),
                watched: number.map { ChangeSubject.database($0) } ?? .everything,
                head: reading.head)
        }
    }
}
