import Stratus
import StratusFiles
import StratusGateway

/// Reads every byte of a store and names what is damaged.
enum Verify {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let path = invocation.argument("STORE")
        for option in ["subset", "max-duration", "resume"] {
            try invocation.refuse("against", with: [option])
        }
        let certificate = try invocation.certificate()
        let (subset, duration) = (try invocation.subset(), try invocation.longestDuration())
        var file: ResumeFile?
        if let name = invocation.value("resume") {
            file = try ResumeFile(name, of: try await StoreVerification.storeID(at: path))
        }
        let part = ScrubPart(subset: subset, from: file?.place, for: duration)
        let progress = ReadingProgress("verifying", invocation, output)
        let result = try await StoreVerification(
            part, at: path, bytesPerSecond: invocation.rate(), progress: progress.update)
        progress.finish()
        for finding in result.findings {
            try output.result("finding", finding.json, text: text(of: finding))
        }
        let comparison = try await compare(with: certificate, result, invocation, output)
        let differences = comparison?.differences.count
        try file?.write(result.next)
        try output.summary(
            result.json(differences: differences),
            text: summary(result, subset))
        guard isWhole(result), differences ?? 0 == 0 else { return .differences }
        return comparison?.provesNothing ?? false ? .partial : .ok
    }

    /// Compares the store with the certificate of `--against`; nil where it was not compared.
    private static func compare(
        with certificate: Certificate?, _ result: StoreVerification, _ invocation: Invocation,
        _ output: Output
    ) async throws -> CertificateComparison? {
        guard let certificate else { return nil }
        let comparison: CertificateComparison
        do {
            let progress = ReadingProgress("comparing", in: .items("record"), invocation, output)
            defer { progress.finish() }
            comparison = try await invocation.openStore().compare(
                with: certificate, progress: progress.count)
        } catch let error as StoreError where error.cause == .damaged && !isWhole(result) {
            // What is damaged was named already.
            output.warning(
                "certificate.not-compared", "not compared with the certificate: \(error.reason)")
            return nil
        }
        try comparison.write(certificate, to: output)
        return comparison
    }

    private static func text(of finding: StoreVerification.Finding) -> String {
        let place = finding.place
        let meaning =
            switch finding.severity {
            case .damage: ""
            case .possibleLoss:
                "; the next opening for writing ends the journal there, and something "
                    + "acknowledged may be missing"
            case .tornTail: "; a write was cut off, the next opening ends the journal there"
            }
        return place.text + (place.offset.map { ", offset \($0)" } ?? "") + meaning
            + (place.record.map {
                "; record \($0.recordName) of zone \($0.zoneID.zoneName), "
                    + "field \(place.field ?? "")"
            } ?? "")
            + "; \(finding.hint)"
    }

    private static func summary(
        _ result: StoreVerification, _ subset: ScrubPart.Subset?
    ) -> String {
        var parts = [
            found(result) + (subset.map { " in part \($0.number) of \($0.count): " } ?? " in ")
                + "\(Quantities.count(result.entryCount, "entry")) of "
                + "\(Quantities.count(result.commitCount, "commit")), "
                + "\(Quantities.size(UInt64(result.bytesRead))) in "
                + Quantities.count(result.segmentCount, "segment"),
            result.hasCheckpoint
                ? "\(Quantities.size(UInt64(result.tableBytes))) in "
                    + "\(Quantities.count(result.tableCount, "table")) of the index"
                : "there is no checkpoint yet",
        ]
        if result.chunkCount > 0 {
            parts.append(
                "\(Quantities.size(UInt64(result.chunkBytes))) in "
                    + "\(Quantities.count(result.chunkCount, "chunk")) of assets")
        }
        if let next = result.next { parts.append("\(next) is next") }
        return parts.joined(separator: "; ")
    }

    private static func found(_ result: StoreVerification) -> String {
        if result.findings.isEmpty { return "no damage" }
        return isWhole(result)
            ? "no damage, but a torn tail," : Quantities.count(result.findings.count, "finding")
    }

    /// A write that was cut off and never acknowledged takes nothing away.
    private static func isWhole(_ result: StoreVerification) -> Bool {
        result.count(of: .tornTail) == result.findings.count
    }
}

extension StoreError.Place {
    /// For people: where it is and what is wrong there.
    var text: String { "\(file), byte \(byte): \(kind)" }
}

/// Writes the hash of what a store holds.
enum Hash {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let container = try await invocation.openStore()
        let database = try await invocation.readDatabase(of: container)
        let zoneID = try invocation.has("zone") ? invocation.zoneID(in: container) : nil
        let total =
            try zoneID.map { try database.recordCount(inZoneWith: $0) }
            ?? database.usage().recordCount
        var progress = Progress(
            "hashing", .items("record"), total: UInt64(total), invocation.progress, to: output,
            at: Clock.monotonicNanoseconds)
        let hash: ContentHash
        do throws(StoreError) {
            hash = try database.contentHash(
                of: zoneID, includingSystem: invocation.has("system")
            ) { done in progress.update(UInt64(done), at: Clock.monotonicNanoseconds) }
        } catch {
            // The last message names the first place.
            for place in error.places.dropFirst() {
                output.warning(
                    "damage.\(place.kind)",
                    "byte \(place.byte): \(place.kind)"
                        + (place.offset.map { ", offset \($0)" } ?? ""), file: place.file)
            }
            throw error
        }
        progress.finish(at: Clock.monotonicNanoseconds)
        try output.result(
            "hash", ["hash": .string(hash.description), "records": .integer(hash.recordCount)],
            text: hash.description)
        return .ok
    }
}

extension Invocation {
    /// Of `--rate`, in bytes a second.
    fileprivate func rate() throws -> Int? {
        guard let text = value("rate") else { return nil }
        guard let rate = Quantities.number(text, in: Quantities.sizes), rate > 0 else {
            throw ToolError.usage(
                "bad-value", "--rate takes a size such as 20MiB or 1GiB, not \(text)")
        }
        return rate
    }

    /// Of `--subset`.
    fileprivate func subset() throws(ToolError) -> ScrubPart.Subset? {
        guard let text = value("subset") else { return nil }
        let numbers = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.count == 2, let number = numbers[0], let count = numbers[1], number >= 1,
            number <= count
        else { throw .usage("bad-value", "--subset takes a part such as 3/7, not \(text)") }
        return ScrubPart.Subset(number, of: count)
    }

    /// Of `--max-duration`.
    fileprivate func longestDuration() throws(ToolError) -> Duration? {
        guard let text = value("max-duration") else { return nil }
        guard let seconds = Quantities.number(text, in: Quantities.ages) else {
            throw .usage("bad-value", "--max-duration takes a time such as 90m or 2h, not \(text)")
        }
        return .seconds(seconds)
    }
}

/// The file of `--resume`: which store was read, and where the next run goes on.
private struct ResumeFile {
    private let path: String
    private let storeID: String
    /// Nil: at the beginning.
    let place: ScrubPlace?

    /// Where there is no such file, the run is the first.
    init(_ path: String, of storeID: String) throws(ToolError) {
        self.path = path
        self.storeID = storeID
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try SourceFile(FilePlace(path), on: LinuxFileSystem()).bytes(limit: 4096)
        } catch {
            guard error.code == .notFound else { throw ToolError(error, "cannot read", path) }
            place = nil
            return
        }
        let json = try? JSONReader.read(bytes.span)
        guard case .object(let object) = json, object["type"] == "place",
            let next = Self.place(in: object)
        else {
            throw ToolError(.usage, id: "resume.form", "it does not say where to go on", file: path)
        }
        guard object["storeID"] == .string(storeID) else {
            throw ToolError(.usage, id: "resume.other-store", "it is of another store", file: path)
        }
        place = next
    }

    /// Nil of what is none; a place that is nil is the beginning.
    private static func place(in object: JSONObject) -> ScrubPlace?? {
        switch object["next"] {
        case nil: .some(nil)
        case .string(let text): ScrubPlace(text).map { .some($0) }
        default: nil
        }
    }

    /// - Parameter next: nil: the store was read to its end.
    func write(_ next: ScrubPlace?) throws(ToolError) {
        var object: JSONObject = ["storeID": .string(storeID)]
        object.append("next", next.map { .string($0.description) })
        let file = try OutputFile(path)
        _ = try file.write(JSONWriter.line(type: "place", object) + [UInt8(ascii: "\n")])
        try file.publish()
        try file.close()
    }
}
