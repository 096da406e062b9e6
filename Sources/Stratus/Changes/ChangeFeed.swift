internal import StratusJournal
internal import StratusEngine

/// Changes since a token, page by page, and then every new one as it comes.
///
/// Each page has its own token: a reader that keeps the token with the page can go on from there
/// later, in another process too. A page is read when it is asked for, never ahead, and holds each
/// change once in its last state, so that a slow reader gets larger steps and never falls behind.
/// Waiting costs nothing; the commit that changes something in the zone or database ends it.
///
/// The sequence ends when its task is cancelled or the container closed. It throws what the call
/// for a single page throws: ``StoreError`` with `zoneNotFound` once the zone is deleted,
/// `changeTokenExpired` where it was made anew. In a container opened for reading only it goes on
/// with every ``Container/refresh()``.
public struct ChangeFeed<Page: ChangePage>: AsyncSequence, Sendable {
    let container: Container
    let start: ChangeToken?
    let read: @Sendable (ChangeToken?) async throws(EngineError) -> Answer

    /// A page and what its reader waits for.
    struct Answer: Sendable {
        var page: Page
        var watched: [ChangeSubject]
        /// Where the journal ended in what was asked.
        var head: JournalOffset
    }

    /// The pages from the beginning of the sequence on.
    public func makeAsyncIterator() -> Iterator { Iterator(feed: self, token: start) }

    /// The pages, one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let feed: ChangeFeed
        fileprivate var token: ChangeToken?
        private var isDone = false

        fileprivate init(feed: ChangeFeed, token: ChangeToken?) {
            self.feed = feed
            self.token = token
        }

        /// The next page that says anything; the first one without a token also where it is empty.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(StoreError) -> Page? {
            do throws(EngineError) {
                while !isDone, !Task.isCancelled {
                    let isFirst = token == nil
                    let answer = try await feed.read(token)
                    token = answer.page.changeToken
                    if isFirst || answer.page.saysAnything { return answer.page }
                    let published = feed.container.published
                    guard await published.change(of: answer.watched, since: answer.head) else {
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
}

/// A page of a feed.
public protocol ChangePage: Sendable {
    /// From where the next page goes on.
    var changeToken: ChangeToken { get }
    /// Whether it names a change, or says that there are more.
    var saysAnything: Bool { get }
}

extension RecordZoneChanges: ChangePage {
    /// Whether it names a change, or says that there are more.
    public var saysAnything: Bool { moreComing || !modifications.isEmpty || !deletions.isEmpty }
}

extension DatabaseChanges: ChangePage {
    /// Whether it names a change, or says that there are more.
    public var saysAnything: Bool { moreComing || !modifications.isEmpty || !deletions.isEmpty }
}

extension Database {
    /// What changed in a zone since `token`, or all that is in it, and then what changes in it.
    /// Pages as of recordZoneChanges.
    public func liveRecordZoneChanges(
        inZoneWith id: RecordZone.ID, since token: ChangeToken? = nil,
        desiredKeys: [String]? = nil, desiredRecordTypes types: [String]? = nil,
        resultsLimit: Int? = nil
    ) -> ChangeFeed<RecordZoneChanges> {
        live(since: token) { view, token throws(EngineError) in
            let page = try view.recordZoneChanges(
                inZoneWith: id, since: token, desiredKeys: desiredKeys,
                desiredRecordTypes: types, resultsLimit: resultsLimit)
            let (zone, reader) = (page.changeToken.zone, page.changeToken.database)
            if !view.isShared { return (page, [.zone(zone)]) }
            return (page, try view.reading.sharedSubjects(of: reader, in: zone))
        }
    }

    /// Which zones changed since `token`, or which there are, and then which change. Pages as of
    /// ``databaseChanges(since:resultsLimit:)``.
    public func liveDatabaseChanges(
        since token: ChangeToken? = nil, resultsLimit: Int? = nil
    ) -> ChangeFeed<DatabaseChanges> {
        live(since: token) { view, token throws(EngineError) in
            let page = try view.databaseChanges(since: token, resultsLimit: resultsLimit)
            // The database of a user who has never written has no number yet.
            let number = page.changeToken.database
            if number == 0 { return (page, [.everything]) }
            if !view.isShared { return (page, [.database(number)]) }
            return (page, try view.reading.sharedSubjects(of: number, in: nil))
        }
    }

    private func live<Page: ChangePage>(
        since token: ChangeToken?,
        _ read:
            @escaping @Sendable (DatabaseView, ChangeToken?) throws(EngineError) -> (
                page: Page, watched: [ChangeSubject]
            )
    ) -> ChangeFeed<Page> {
        ChangeFeed(container: container, start: token) { token throws(EngineError) in
            try await answer { view throws(EngineError) in
                let (page, watched) = try read(view, token)
                return ChangeFeed<Page>.Answer(
                    page: page, watched: watched, head: try view.reading.head)
            }
        }
    }
}
