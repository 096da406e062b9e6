internal import StratusEngine

extension Record {
    /// The fields that are flagged as encrypted, alone. A flag is all that it is so far: the store
    /// keeps it with the field, does not let the field be queried, and does not encrypt anything.
    ///
    /// A field is flagged by its first save for all records of the type; the public database has no
    /// such fields, and a reference cannot be one. A field that was fetched keeps its flag however
    /// it is assigned.
    public var encryptedValues: EncryptedValues {
        get { EncryptedValues(record: self) }
        set { self = newValue.record }
    }

    /// A view of the fields of a record that are flagged as encrypted.
    public struct EncryptedValues: Sendable {
        fileprivate var record: Record

        /// The value of a field that is flagged; nil where it is not, or has none. Assigning flags
        /// the field; assigning nil removes it.
        public subscript(key: String) -> RecordValue? {
            get { record.isEncrypted(key) ? record[key] : nil }
            set { record.set(key, newValue, isEncrypted: true) }
        }

        /// The flagged fields that have a value, sorted.
        public var allKeys: [String] { record.allKeys.filter { record.isEncrypted($0) } }

        /// The flagged fields that were set or removed since the record was fetched, sorted.
        public var changedKeys: [String] { record.changedKeys.filter { record.isEncrypted($0) } }
    }
}
