internal import StratusEngine

/// What a save does about changes that another client made meanwhile.
///
/// Rules: `Formats/README.md`, "Saving" (CloudKit's `RecordSavePolicy`).
public enum SavePolicy: Int, Hashable, Sendable {
    /// Refuses where the record's tag is not the one the edits began from; sends changed fields.
    case ifServerRecordUnchanged = 0
    /// Sends changed fields, whatever the record is now.
    case changedKeys = 1
    /// Sends all fields that are here, whatever the record is now; fields that are not stay.
    case allKeys = 2
}
