/// One call of the API, as the model, the engine and the gateway can all make it.
package struct ModelCall: Sendable {
    package enum Kind: Sendable {
        case zones(saving: [String], deleting: [String], reason: ModelDatabase.Reason)
        /// All that a user has.
        case purge(user: Int)
        case zoneNames
        case batch(ModelBatch)
        case move([ModelID], to: String)
        case fetch([ModelID], keys: Set<String>?)
        case list(zone: String, type: String?)
        /// By the place of a token among those that the run holds.
        case changes(zone: String, token: Int?, limit: Int?)
        case databaseChanges(token: Int?, limit: Int?)
        /// Closes the store and opens it again.
        case reopen
    }

    package var database: ModelDatabaseID
    /// nil: an anonymous caller, in the public database.
    package var caller: Int?
    package var kind: Kind

    package init(_ kind: Kind, in database: ModelDatabaseID, by caller: Int?) {
        self.kind = kind
        self.database = database
        self.caller = caller
    }
}

/// What a real container answered, in the words of the model.
package enum SeenAnswer: Sendable {
    case refused(SeenFailure)
    case done
    case zones(saves: [String: SeenFailure?], deletes: [String: SeenFailure?])
    case zoneNames([String])
    case batch(
        saves: [ModelID: Result<SeenRecord, SeenFailure>], deletes: [ModelID: SeenFailure?])
    case fetched([ModelID: Result<SeenRecord, SeenFailure>])
    case listed([SeenRecord])
    /// In the order of the call.
    case moved([SeenRecord])
    case changes(SeenChanges)
    case databaseChanges(SeenDatabaseChanges)
}

package struct SeenFailure: Error, Sendable {
    package var code: Int
    package var text: String
    package var server: SeenRecord?
    package var ancestor: SeenRecord?

    package init(code: Int, text: String) {
        self.code = code
        self.text = text
    }
}

package struct SeenRecord: Sendable {
    package var id: ModelID
    package var type: String
    package var fields: [String: ModelValue]
    package var parent: ModelID?
    package var tag: String
    /// In a unit of the driver's choice.
    package var created: Double
    package var modified: Double
    package var creator: String
    package var modifier: String
    /// By what the driver finds it again, to hold it.
    package var handle: Int

    package init(
        id: ModelID, type: String, fields: [String: ModelValue], parent: ModelID?, tag: String,
        created: Double, modified: Double, creator: String, modifier: String, handle: Int
    ) {
        self.id = id
        self.type = type
        self.fields = fields
        self.parent = parent
        self.tag = tag
        self.created = created
        self.modified = modified
        self.creator = creator
        self.modifier = modifier
        self.handle = handle
    }
}

package struct SeenChanges: Sendable {
    package var modified: [SeenRecord] = []
    package var deleted: [(id: ModelID, type: String)] = []
    package var token = ""
    package var moreComing = false
    package var isFullSnapshot = false

    package init() {}
}

package struct SeenDatabaseChanges: Sendable {
    package var modified: [String] = []
    package var deleted: [(zone: String, reason: Int)] = []
    package var token = ""
    package var moreComing = false

    package init() {}
}

/// Something that can be asked what the model is asked.
package protocol ModelDriver: Sendable {
    /// `token` is the text of the token that the call names.
    mutating func perform(_ call: ModelCall, token: String?) async throws -> SeenAnswer
    /// Keeps a record of the last answer, which clients hold as `copy`.
    mutating func hold(_ handle: Int, as copy: ModelCopy)
}
