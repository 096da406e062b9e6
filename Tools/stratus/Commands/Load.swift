import Stratus
import StratusFiles
import StratusGateway

/// `stratus load`: makes records what the lines of a dump say, those of a zone in one commit.
enum Load {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        try invocation.refuseShared()
        let path = invocation.optionalArgument("FILE").flatMap { $0 == "-" ? nil : $0 }
        var count = 0
        do {
            var lines = try path.map { path in
                do throws(SystemError) {
                    return try InputLines(ofFile: path)
                } catch {
                    throw ToolError(error, "cannot read", path)
                }
            }
            let length = path.flatMap { FilePlace($0).length(on: LinuxFileSystem()) }
            let progress = ReadingProgress("loading", in: .bytes, invocation, output)
            defer { progress.finish() }
            try await invocation.changing(creating: !invocation.has("dry-run")) { container in
                try output.header(schema: "stratus.load/1")
                var loader = DumpLoader(into: container, invocation.loading(into: container)) {
                    try report($0, invocation, output)
                    count += 1
                }
                var input = lines.take() ?? .standardInput
                while let (bytes, number) = try input.next() {
                    try await loader.take(bytes, number: number)
                    progress.count(input.position, of: length)
                }
                try await loader.finish()
                progress.finish()
            } through: { service in
                guard let path else {
                    throw ToolError.usage(
                        "load", "a service has the store open, and reads no standard input",
                        hint: "write the lines to a file, and name that")
                }
                let body = invocation.loadOrder(path)
                let answer = try await service.call("store/load", body, invocation)
                try output.header(schema: "stratus.load/1")
                for step in try DumpLoader.Step.all(in: answer) {
                    try report(step, invocation, output)
                    count += 1
                }
                if let fault = DumpLoader.Fault(answer: answer) { throw fault }
            }
        } catch let fault as DumpLoader.Fault {
            throw ToolError(fault)
        } catch let error as SystemError {
            throw ToolError(error, "cannot read", path ?? "standard input")
        }
        guard count == 0 else { return .ok }
        if let name = invocation.value("zone") {
            throw ToolError(.notFound, id: "zone.none", "no line is of the zone \(name)")
        }
        output.warning("dump.empty", "there is no line that says anything of a zone")
        return .ok
    }

    private static func report(
        _ step: DumpLoader.Step, _ invocation: Invocation, _ output: Output
    ) throws {
        let isDryRun = invocation.has("dry-run")
        // Where one database takes all lines it is not the one that they name.
        func target(_ user: String?) -> String? {
            guard invocation.choosesDatabase else { return user }
            return invocation.database == .public ? nil : invocation.user
        }
        switch step {
        case .records(let done, let repeated, let zone, let source):
            let user = target(source)
            let added = done.added.count + repeated
            var object = identity(of: zone, user)
            object.append("dryRun", .boolean(isDryRun))
            object.append("added", .integer(added))
            object.append("replaced", .integer(done.replaced.count))
            object.append("deleted", .integer(done.deleted.count))
            object.append("kept", .integer(done.kept.count))
            object.append("unchanged", .integer(done.unchangedCount))
            try output.result(
                "zone", object,
                text: "\(name(of: zone, user)): "
                    + "\(added) \(isDryRun ? "would be " : "")added, "
                    + "\(done.replaced.count) replaced, \(done.deleted.count) deleted; "
                    + "\(done.kept.count) kept, \(done.unchangedCount) unchanged")
        case .deletedZone(let zone, let source):
            let user = target(source)
            var object = identity(of: zone, user)
            object.append("zoneDeleted", true)
            try output.result(
                "zone", object,
                text: "\(name(of: zone, user)): "
                    + (isDryRun ? "the zone would be deleted" : "the zone is deleted"))
        }
    }

    private static func name(of zone: RecordZone.ID, _ user: String?) -> String {
        "\(Output.escaped(zone.zoneName)) (\(Output.escaped(user ?? "public")))"
    }

    private static func identity(of zone: RecordZone.ID, _ user: String?) -> JSONObject {
        var object: JSONObject = ["zoneName": .string(zone.zoneName)]
        object.append(databaseOf: user)
        return object
    }
}

extension InputLines {
    fileprivate static var standardInput: InputLines {
        InputLines { _, limit throws(SystemError) in try Terminal.read(upTo: limit) ?? [] }
    }
}

extension Invocation {
    fileprivate func loading(into container: Container) -> DumpLoader.Options {
        var options = DumpLoader.Options(host: user)
        options.mode = value("mode").flatMap(RestoreMode.init(rawValue:)) ?? .replace
        options.isDryRun = has("dry-run")
        options.zoneName = value("zone")
        options.targetZone = value("as-zone")
        options.assetFolder = value("asset-files")
        options.database = choosesDatabase ? database(of: container) : nil
        return options
    }

    /// What a service is asked.
    fileprivate func loadOrder(_ path: String) -> JSONObject {
        var body: JSONObject = ["path": .string(absolutePath(path))]
        body.append("mode", textOf: value("mode"))
        body.append("zone", textOf: value("zone"))
        body.append("asZone", textOf: value("as-zone"))
        body.append("assetFiles", textOf: value("asset-files").map { absolutePath($0) })
        body.append("dryRun", .boolean(has("dry-run")))
        body.append("oneDatabase", .boolean(choosesDatabase))
        return body
    }
}

extension ToolError {
    fileprivate init(_ fault: DumpLoader.Fault) {
        switch fault {
        case .line: self.init(.invalidBackup, id: "dump.line", fault.reason)
        case .isNotInARow: self.init(.invalidBackup, id: "dump.order", fault.reason)
        case .severalDatabases:
            self = .usage("load", fault.reason, hint: "leave out --as and --database")
        case .noAsset:
            self.init(
                .notFound, id: "asset.none", fault.reason,
                hint: "'stratus dump --asset-files DIR' writes assets as files, 'stratus load "
                    + "--asset-files DIR' reads them")
        }
    }
}
