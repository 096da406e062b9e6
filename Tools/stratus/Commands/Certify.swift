import Stratus
import StratusBytes
import StratusFiles
import StratusGateway

/// `stratus certify`, and what `stratus verify --against` reads and says of a certificate.
enum Certify {
    static func run(_ invocation: Invocation, _ output: Output) async throws -> ExitCode {
        let progress = ReadingProgress("certifying", in: .items("record"), invocation, output)
        defer { progress.finish() }
        let certificate = try await invocation.openStore()
            .certificate(
                by: "\(CommandTable.stratus.tool) \(Tool.version)", progress: progress.count)
        progress.finish()
        try output.verbatim(line: certificate.json)
        return .ok
    }
}

extension Invocation {
    /// So long a certificate is read.
    private static let certificateLimit = 256 << 20

    /// The certificate that `--against` names.
    func certificate() throws(ToolError) -> Certificate? {
        guard let path = value("against") else { return nil }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try SourceFile(FilePlace(path), on: LinuxFileSystem())
                .bytes(limit: Self.certificateLimit)
        } catch {
            throw ToolError(error, "cannot read the certificate", path)
        }
        do throws(StoreError) {
            return try Certificate(json: bytes)
        } catch {
            let isNewer = error.cause == .newerFormat
            throw ToolError(
                isNewer ? .newerFormat : .usage,
                id: isNewer ? "certificate.newer" : "certificate.form", error.reason, file: path)
        }
    }
}

extension CertificateComparison {
    /// Whether neither the chain nor what the zones held can be told any more.
    var provesNothing: Bool { chain == .compacted && zones == .notKept }

    /// Names each difference, and says what of the certificate is proved.
    func write(_ certificate: Certificate, to output: Output) throws {
        for difference in differences {
            try output.result(
                "finding", difference.json(certificate), text: difference.text(certificate))
        }
        try output.result(
            "certificate",
            [
                "offset": .offset(certificate.offset), "made": .date(certificate.created),
                "history": .string(history.rawValue), "chain": .string(chain.rawValue),
                "zones": .string(zones.rawValue), "differences": .integer(differences.count),
            ], text: text(certificate))
    }

    private func text(_ certificate: Certificate) -> String {
        let place = "offset \(certificate.offset)"
        guard history == .proved else { return "not the history that was certified at \(place)" }
        let chainText =
            switch chain {
            case .proved: "the chain is the certified one"
            case .compacted:
                "the chain is not known any more, since the journal was compacted there"
            default: "the chain is another one"
            }
        let zonesText =
            switch zones {
            case .proved:
                "\(Quantities.count(certificate.zones.count, "zone")) proved by content hashes"
            case .notKept:
                "what the zones held cannot be read any more, since neither a mark nor the "
                    + "retention keeps it"
            default: "zones held something else"
            }
        return "at the certified \(place) \(chainText); \(zonesText)"
    }
}

extension CertificateComparison.Difference {
    fileprivate func json(_ certificate: Certificate) -> JSONObject {
        var object: JSONObject = [
            "severity": "difference", "id": .string("certificate.\(word)"),
            "message": .string(text(certificate)), "offset": .offset(certificate.offset),
        ]
        guard case .zone(let certified, let found) = self, let zone = certified ?? found else {
            return object
        }
        object.append("zoneName", .string(zone.zoneName))
        object.append("user", zone.owner.map(JSONValue.string))
        object.append("certified", certified.map { .object($0.json) })
        object.append("found", found.map { .object($0.json) })
        return object
    }

    private var word: String {
        switch self {
        case .store: "store"
        case .lineage: "lineage"
        case .lost: "lost"
        case .chain: "chain"
        case .zone: "zone"
        }
    }

    fileprivate func text(_ certificate: Certificate) -> String {
        let place = "the certified offset \(certificate.offset)"
        switch self {
        case .store(let found):
            return "another store: certified is \(certificate.storeID), found \(found)"
        case .lineage(let end?):
            return
                "a copy of the store that went another way: behind offset \(end), before \(place)"
        case .lineage:
            return "a copy of the store that does not come from the certified one"
        case .lost(let end):
            return "commits are lost: the history ends at offset \(end), before \(place)"
        case .chain(let found):
            return "chain: at \(place) expected \(Hex.encode(certificate.chain)), found "
                + Hex.encode(found)
        case .zone(let certified, let found):
            let zone = certified ?? found
            return "zone \(Output.escaped(zone?.zoneName ?? "")) of \(zone?.owner ?? "public"): at "
                + "\(place) expected \(Self.text(certified)), found \(Self.text(found))"
        }
    }

    private static func text(_ zone: Certificate.Zone?) -> String {
        guard let zone else { return "no such zone" }
        return "\(Quantities.count(zone.recordCount, "record")) with the hash "
            + (zone.contentHash ?? "")
    }
}
