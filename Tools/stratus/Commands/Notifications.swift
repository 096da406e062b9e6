import FoundationEssentials
import Stratus
import StratusBytes
import StratusFiles
import StratusGateway

/// Shows what a user is notified of, and goes on with it as it comes.
enum Notifications {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let since = try invocation.notificationToken()
        let limit = try invocation.limit()
        let container = try await invocation.openStore()
        let user = try container.demandUser(invocation.requiredValue("user"))
        let folder = try invocation.value("payloads").map { try PayloadFolder($0) }
        let follows = invocation.has("follow")
        if follows { Terminal.catchStopSignals() }
        try output.header(schema: "stratus.notifications/1")
        var token = since
        var left = limit
        while true {
            let page = try await container.notificationChanges(
                for: user.recordName, onDevice: invocation.value("device"), since: token,
                resultsLimit: left)
            for notification in page.notifications {
                let file = try folder?.write(notification)
                try output.jsonLine("notification", notification.json(file: file))
            }
            token = page.notificationToken
            left = left.map { $0 - page.notifications.count }
            let isEnd = left.map { $0 <= 0 } ?? false
            if follows, !isEnd, !page.notifications.isEmpty {
                try output.jsonLine("token", page.position)
            }
            if page.moreComing, !isEnd { continue }
            guard follows, !isEnd else {
                try output.jsonLine("summary", page.position)
                return .ok
            }
            try output.flush()
            if let signal = try await container.waitForChanges() {
                try output.jsonLine("summary", page.position)
                return .signal(signal)
            }
        }
    }
}

extension Invocation {
    /// The token that `--since` gives.
    fileprivate func notificationToken() throws(ToolError) -> NotificationToken? {
        guard let text = value("since") else { return nil }
        guard let token = NotificationToken(text) else {
            throw .usage("token", "the value of --since is no token of notifications")
        }
        return token
    }
}

extension Output {
    /// An object as a line, whether or not the results are to be JSON: they are in any case.
    fileprivate func jsonLine(_ type: String, _ object: JSONObject) throws {
        try verbatim(line: JSONWriter.line(type: type, object))
    }
}

extension NotificationChanges {
    /// Where the page ends.
    fileprivate var position: JSONObject {
        [
            "token": .string(notificationToken.description), "moreComing": .boolean(moreComing),
        ]
    }
}

extension StoreNotification {
    /// - Parameter file: where the payload was written to.
    fileprivate func json(file: String?) throws -> JSONObject {
        var object: JSONObject = [
            "notificationID": .string(id.description),
            "notificationType": .integer(kind.rawValue),
        ]
        object.append("markedID", markedID.map { .string($0.description) })
        object.append("created", .date(created))
        object.append("isRead", .boolean(isRead))
        if kind != .readMark {
            object.append("subscriptionID", .string(subscriptionID))
            object.append("collapseID", collapseIDKey.map(JSONValue.string))
            object.append("payload", try payloadJSON())
        }
        object.append("file", file.map(JSONValue.string))
        return object
    }
}

/// The directory for the files of payloads, a file for each.
private struct PayloadFolder {
    private let folder: ResultFolder

    /// Makes the directory where there is none.
    init(_ path: String) throws { folder = try ResultFolder(path) }

    /// Writes a payload, and returns the path of its file once that is durable; nil of a read mark,
    /// which has nothing to be sent.
    func write(_ notification: StoreNotification) throws -> String? {
        guard notification.kind != .readMark else { return nil }
        let file = folder.file(notification.fileName)
        let bytes = [UInt8](notification.payload())
        do throws(SystemError) {
            guard let fresh = FreshFile(replacing: file, on: LinuxFileSystem()) else {
                throw SystemError(.permission, in: "open")
            }
            try fresh.write([bytes[...]], at: 0)
            try fresh.replace()
        } catch {
            throw ToolError(error, "cannot write the payload", file)
        }
        return file
    }
}

extension StoreNotification {
    /// The offset of what it tells of, by which names are sorted, and the ID, in whose bytes the
    /// offset stands (`Formats/Notification.md`, "Identifiers").
    fileprivate var fileName: String {
        let bytes = [UInt8](Data(base64Encoded: id.description) ?? Data())
        let name = Hex.encode(bytes) + ".json"
        guard bytes.count == 21 else { return name }
        let span = bytes.span
        return Hex.encode(span.uint64(at: 9)) + "-" + name
    }
}
