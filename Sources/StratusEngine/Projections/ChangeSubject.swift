/// What a commit may change, and what others may wait for.
package enum ChangeSubject: Hashable, Sendable {
    /// Anything in a zone, by its number.
    case zone(UInt32)
    /// The records of a share, or the share itself, by its number.
    case share(UInt32)
    /// Anything in the zones of a user or in the public database, or what a user is told, by number.
    case database(UInt32)
    /// The devices of all users: that one is registered or removed.
    case devices
    /// Which users are known: that one becomes so.
    case users
    /// Each of these, for one who waits.
    case everything
}
