internal import StratusEngine

/// A pointer from one record to another of the same zone.
public struct Reference: Hashable, Sendable, Codable {
    /// What becomes of the source when its target is deleted.
    public enum Action: UInt8, Hashable, Sendable, Codable {
        /// Nothing: the reference dangles.
        case none = 0
        /// It is deleted too.
        case deleteSelf = 1
        /// Nothing; but the target must exist when the source is saved.
        case validate = 2
    }

    /// The target.
    public var recordID: Record.ID
    /// What becomes of the source.
    public var action: Action

    /// A reference to `recordID`.
    public init(recordID: Record.ID, action: Action = .none) {
        self.recordID = recordID
        self.action = action
    }
}
