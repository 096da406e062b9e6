internal import StratusEngine
internal import StratusJournal

/// The notifications of a user as they come, for one of the user's devices.
///
/// A page has the latest notification of each subscription since the page before, without those of
/// changes that the device made itself. It says where there were more, or where some from behind the
/// token are not kept any more. ``Container`` gives all that are kept, from the same tokens:
/// ``Container/notificationChanges(for:since:resultsLimit:)``. A page without notifications is given only
/// where it says so. A page is read when it is asked for, never ahead. Waiting costs nothing: only a
/// commit ends it that concerns the user, or what is shared with the user.
///
/// The sequence ends when its task is cancelled or the container closed. It throws what the call
/// for a page throws, but not `changeTokenExpired` for what is not kept any more. In a container opened
/// for reading only it continues with every ``Container/refresh()``.
public struct Notifications: AsyncSequence, Sendable {
    let container: Container
    /// As the host gave it.
    let user: String
    let device: String?
    let start: NotificationToken?

    /// The pages from the beginning of the sequence on.
    public func makeAsyncIterator() -> Iterator { Iterator(notifications: self) }

    /// The pages, one after the other.
    public struct Iterator: AsyncIteratorProtocol {
        private let notifications: Notifications
        private var token: NotificationToken?
        /// Where the journal ended when the last page was given: none without notifications is given
        /// twice of one state.
        private var given: JournalOffset?
        private var isDone = false

        fileprivate init(notifications: Notifications) {
            self.notifications = notifications
            token = notifications.start
        }

        /// The next page that has anything, or says that there was more.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(StoreError) -> NotificationPage? {
            do throws(EngineError) {
                while !isDone, !Task.isCancelled {
                    let answer = try await notifications.answer(since: token)
                    token = answer.page.notificationToken
                    if !answer.page.notifications.isEmpty
                        || answer.page.hasMore && given != answer.head
                    {
                        given = answer.head
                        return answer.page
                    }
                    let published = notifications.container.published
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

    private struct Answer: Sendable {
        var page: NotificationPage
        var watched: [ChangeSubject]
        /// Where the journal ended in what was asked.
        var head: JournalOffset
    }

    private nonisolated(nonsending) func answer(
        since token: NotificationToken?
    ) async throws(EngineError) -> Answer {
        let id = try container.namedUser(user)
        let device = device
        return try await container.read { reading throws(EngineError) -> Answer in
            guard var reader = try NotificationReader(reading, of: id, device: device) else {
                return Answer(
                    page: NotificationPage(
                        notificationToken: try NotificationToken(unknown: token, in: reading)),
                    watched: [.users], head: reading.head)
            }
            let watched = try reader.watched
            return Answer(
                page: try reader.latest(since: token), watched: watched, head: reading.head)
        }
    }
}

extension NotificationReader {
    /// What a commit has to concern, so that the user may be notified of anything new.
    var watched: [ChangeSubject] {
        get throws(EngineError) {
            try reading.sharedSubjects(of: number, in: nil)
        }
    }

    /// Of all that is kept behind a token, and is wanted, the latest of each subscription. That there
    /// was more, of a subscription or what is not kept any more, the page says.
    mutating func latest(
        since token: NotificationToken?,
        where isWanted: (StoreNotification) -> Bool = { _ in true }
    ) throws(EngineError) -> NotificationPage {
        let isComplete = if let token { try isComplete(since: token) } else { true }
        var latest = LatestNotifications()
        var page = try self.page(since: token, limit: Page.usual, mayHaveGaps: true)
        latest.take(page.notifications.filter(isWanted))
        while page.moreComing {
            page = try self.page(
                since: page.notificationToken, limit: Page.usual, mayHaveGaps: true)
            latest.take(page.notifications.filter(isWanted))
        }
        return NotificationPage(
            notifications: latest.notifications, hasMore: latest.isIncomplete || !isComplete,
            notificationToken: page.notificationToken)
    }
}

/// Of notifications in their order the latest of each subscription.
struct LatestNotifications {
    /// By subscription; 0 of read marks.
    private var latest: [UInt64: (place: Int, notification: StoreNotification)] = [:]
    private var count = 0
    /// Whether there were others.
    private(set) var isIncomplete = false

    mutating func take(_ more: [StoreNotification]) {
        for notification in more where !notification.isFromThisDevice {
            count += 1
            let number = notification.id.number
            if latest[number] != nil { isIncomplete = true }
            latest[number] = (count, notification)
        }
    }

    var notifications: [StoreNotification] {
        latest.values.sorted { $0.place < $1.place }.map { $0.notification }
    }
}
