public import FoundationEssentials
internal import StratusEngine
internal import StratusIndex
internal import StratusJournal

/// A user whom the store knows.
public struct UserInfo: Hashable, Sendable {
    /// The identity of the user's record.
    public let userRecordID: Record.ID
    /// What the host called the user first; nil where that was the user record name, or longer than
    /// 255 bytes.
    public let userName: String?
    /// When the user was first used.
    public let creationDate: Date
    /// What the host said of the user last; nil where it has said nothing.
    public let profile: UserProfile?
    /// The place in the order in which the store came to know its users, from 1 on.
    package let number: UInt32
}

/// A page of the users whom a store knows.
public struct UserPage: Sendable {
    /// Where the next page begins.
    public struct Cursor: Hashable, Sendable {
        /// Of the first user in it.
        fileprivate var number: UInt32

        /// The page that begins behind a user.
        package init(after number: UInt32) { self.number = number + (number < .max ? 1 : 0) }
    }

    /// In the order in which the store came to know them.
    public internal(set) var users: [UserInfo] = []
    /// Nil at the end. Users who become known meanwhile come last.
    public internal(set) var cursor: Cursor?

    /// The most users in a page.
    static let limit = 1000
}

extension StoreReading {
    func users(
        from cursor: UserPage.Cursor?, _ resultsLimit: Int?
    ) throws(EngineError) -> UserPage {
        let limit = max(1, min(resultsLimit ?? UserPage.limit, UserPage.limit))
        let all = KeySpace.userNumbers.range()
        let first = cursor.map { IndexKey.userNumber($0.number) } ?? all.lowerBound
        var numbers: [UInt32] = []
        var hasMore = false
        try scan(first..<all.upperBound) { key, _ in
            if numbers.count == limit {
                hasMore = true
                return false
            }
            numbers.append(key.uint32(at: 5))
            return true
        }
        var page = UserPage()
        for number in numbers {
            guard let entry = try userEntry(number) else { continue }
            page.users.append(
                UserInfo(
                    userRecordID: Record.ID(recordName: UserID(bits: entry.bits).recordName),
                    userName: entry.hostName.isEmpty ? nil : entry.hostName,
                    creationDate: Date(milliseconds: entry.created),
                    profile: try profile(of: number), number: number))
        }
        if hasMore { page.cursor = numbers.last.map { UserPage.Cursor(after: $0) } }
        return page
    }
}
