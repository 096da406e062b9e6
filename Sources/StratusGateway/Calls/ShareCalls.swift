internal import Stratus

/// What the links of shares lead to.
struct ResolveShares: Call {
    enum Key: String { case shortGUIDs }

    private let links: [ShareLinkInput]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { links = try keys.required(.shortGUIDs) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try await session.results(of: links, accepting: false)
    }
}

/// Joins shares by their links.
struct AcceptShares: Call {
    enum Key: String { case shortGUIDs }

    private let links: [ShareLinkInput]

    init(_ keys: JSONKeys<Key>) throws(Mismatch) { links = try keys.required(.shortGUIDs) }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        try await session.results(of: links, accepting: true)
    }
}

/// The link of a share, and what is asked of its root.
private struct ShareLinkInput: JSONBody {
    enum Key: String { case value, shouldFetchRootRecord, rootRecordDesiredKeys }

    let value: String
    let fetchesRoot: Bool
    let desiredKeys: [String]?

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        value = try keys.required(.value)
        fetchesRoot = try keys.optional(.shouldFetchRootRecord) ?? false
        desiredKeys = try keys.optional(.rootRecordDesiredKeys)
    }

    var json: JSONObject {
        ["value": .string(value), "shouldFetchRootRecord": .boolean(fetchesRoot)]
    }
}

extension Session {
    /// What became of each link.
    fileprivate func results(
        of links: [ShareLinkInput], accepting: Bool
    ) async throws(StoreError) -> JSONObject {
        let user = try user()
        var results: [JSONValue] = []
        for link in links {
            var object: JSONObject = ["shortGUID": .object(link.json)]
            do throws(StoreError) {
                let metadata = try await self.metadata(of: link, as: user, accepting: accepting)
                append(metadata, to: &object, for: user, link.desiredKeys)
            } catch {
                object.append(json(error))
            }
            results.append(.object(object))
        }
        return ["results": .array(results)]
    }

    private func metadata(
        of link: ShareLinkInput, as user: String, accepting: Bool
    ) async throws(StoreError) -> Share.Metadata {
        if accepting {
            let accepted = try await container.acceptShare(link.value, as: user)
            if !link.fetchesRoot { return accepted }
        }
        return try await container.shareMetadata(
            for: link.value, as: user, includingRootRecord: link.fetchesRoot)
    }

    /// What a link leads to, and what the caller is and may do there.
    private func append(
        _ metadata: Share.Metadata, to object: inout JSONObject, for user: String,
        _ desiredKeys: [String]?
    ) {
        // A zone without an owner's name is the caller's own.
        var writer = RecordWriter(owner: container.userRecordName(for: user))
        object.append("containerIdentifier", .string(container.information.storeID))
        object.append("environment", .string(container.environment.rawValue.uppercased()))
        object.append("databaseScope", "PRIVATE")
        object.append("zoneID", writer.json(metadata.zoneID))
        object.append("share", writer.json(metadata.share.record))
        object.append(
            "rootRecordName",
            (metadata.hierarchicalRootRecordID?.recordName).map(JSONValue.string))
        writer.desiredKeys = desiredKeys
        object.append("rootRecord", metadata.rootRecord.map(writer.json))
        object.append("participantType", .string(RoleWord(metadata.participantRole).rawValue))
        object.append(
            "participantStatus", .string(AcceptanceWord(metadata.participantStatus).rawValue))
        object.append(
            "participantPermission",
            .string(metadata.participantPermission.word))
        object.append("ownerIdentity", .object(metadata.ownerIdentity.json))
        object.append("potentialMatchList", [])
    }
}
