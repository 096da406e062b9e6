package import Stratus
internal import StratusFiles

/// Makes records what the lines of a dump say, in a store that a service has open: the command `load` of
/// the tool.
struct StoreLoad: Call {
    enum Key: String {
        case path, mode, zone, asZone, assetFiles, dryRun, oneDatabase
    }

    private let path: String
    private let mode: RestoreMode?
    private let zone: String?
    private let target: String?
    private let assetFolder: String?
    private let isDryRun: Bool
    /// Whether all lines are for the database of the request.
    private let isOfOneDatabase: Bool

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        path = try keys.required(.path)
        mode = try keys.optional(.mode)
        zone = try keys.optional(.zone)
        target = try keys.optional(.asZone)
        assetFolder = try keys.optional(.assetFiles)
        isDryRun = try keys.optional(.dryRun) ?? false
        isOfOneDatabase = try keys.optional(.oneDatabase) ?? false
    }

    func run(in session: Session) async throws(StoreError) -> JSONObject {
        let database = try session.hostDatabase()
        for path in [path, assetFolder].compactMap(\.self) { try await session.checkFile(path) }
        var options = DumpLoader.Options(host: try session.user())
        options.mode = mode ?? .replace
        options.isDryRun = isDryRun
        options.zoneName = zone
        options.targetZone = target
        options.assetFolder = assetFolder
        options.files = session.files
        options.database = isOfOneDatabase ? database : nil
        var steps: [JSONValue] = []
        do {
            var loader = DumpLoader(into: session.container, options) {
                steps.append(.object($0.json))
            }
            var lines = try InputLines(ofFile: path)
            while let (bytes, number) = try lines.next() {
                try await loader.take(bytes, number: number)
            }
            try await loader.finish()
        } catch let fault as DumpLoader.Fault {
            // What was brought about before it stays.
            return ["steps": .array(steps), "fault": .object(fault.json)]
        } catch let error as SystemError {
            throw StoreError(.invalidArguments, "the file \(path) cannot be read: \(error)")
        } catch {
            throw StoreError(translating: error)
        }
        return ["steps": .array(steps)]
    }
}

extension DumpLoader.Fault {
    /// What is wrong, in a sentence.
    package var reason: String {
        switch self {
        case .line(let number, let reason): "line \(number): \(reason)"
        case .severalDatabases:
            "the lines are of several databases, which cannot become one"
        case .isNotInARow(let zone):
            "a zone cannot be mirrored of lines that are not in a row: \(zone)"
        case .noAsset(let record, let field):
            "the asset in the field \(field) of the record \(record) is not at hand"
        }
    }
}

extension DumpLoader.Fault {
    fileprivate var json: JSONObject {
        switch self {
        case .line(let number, let reason):
            ["kind": "line", "number": .integer(number), "reason": .string(reason)]
        case .severalDatabases: ["kind": "severalDatabases"]
        case .isNotInARow(let zone): ["kind": "isNotInARow", "zone": .string(zone)]
        case .noAsset(let record, let field):
            ["kind": "noAsset", "record": .string(record), "field": .string(field)]
        }
    }

    private enum Kind: String, JSONWord { case line, severalDatabases, isNotInARow, noAsset }

    private struct Body: JSONBody {
        enum Key: String { case kind, number, reason, zone, record, field }

        let fault: DumpLoader.Fault

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            fault =
                switch try keys.required(.kind, as: Kind.self) {
                case .line:
                    .line(number: try keys.required(.number), try keys.required(.reason))
                case .severalDatabases: .severalDatabases
                case .isNotInARow: .isNotInARow(zone: try keys.required(.zone))
                case .noAsset:
                    .noAsset(
                        record: try keys.required(.record), field: try keys.required(.field))
                }
        }
    }

    /// Why an answer to `store/load` says that not all was loaded; nil: all was.
    package init?(answer: JSONObject) {
        guard let fault = answer["fault"], let body = try? Body(fault) else { return nil }
        self = body.fault
    }
}

extension DumpLoader.Step {
    /// For answers.
    package var json: JSONObject {
        switch self {
        case .records(let done, let repeated, let zone, let user):
            var object = identity(of: zone, user)
            object.append("repeated", .integer(repeated))
            object.append("records", .object(done.json))
            return object
        case .deletedZone(let zone, let user):
            var object = identity(of: zone, user)
            object.append("zoneDeleted", true)
            return object
        }
    }

    private func identity(of zone: RecordZone.ID, _ user: String?) -> JSONObject {
        var object: JSONObject = ["zoneName": .string(zone.zoneName)]
        object.append("user", user.map(JSONValue.string))
        return object
    }

    private struct Body: JSONBody {
        enum Key: String { case zoneName, user, repeated, records, zoneDeleted }

        let step: DumpLoader.Step

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            let zone = RecordZone.ID(zoneName: try keys.required(.zoneName))
            let user: String? = try keys.optional(.user)
            if try keys.optional(.zoneDeleted) == true {
                step = .deletedZone(zone, user: user)
                return
            }
            let records = try keys.required(.records, as: RestoredRecords.self)
            step = .records(
                records, repeated: try keys.optional(.repeated) ?? 0, zone, user: user)
        }
    }

    /// The steps that an answer to `store/load` tells of.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where it is none.
    package static func all(in answer: JSONObject) throws(StoreError) -> [DumpLoader.Step] {
        do throws(Mismatch) {
            guard let steps = answer["steps"] else { throw Mismatch("has no steps") }
            return try [Body](steps).map(\.step)
        } catch {
            throw StoreError(error)
        }
    }
}
