internal import StratusJournal

/// Pins a state that is read from: what the state needs stays until this is no longer referenced.
package final class ReadPin: Sendable {
    private let published: PublishedState
    private let point: JournalOffset

    package init(_ published: PublishedState) {
        self.published = published
        point = published.hold().point
    }

    deinit { published.release(point) }
}
