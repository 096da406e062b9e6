internal import FoundationEssentials
internal import StratusBytes
public import Stratus

/// Certificates as files of JSON: `Formats/Certificate.md`.
extension Certificate {
    /// Of the form of the file.
    fileprivate static let version = 1

    /// As one object of JSON, a line without its end.
    public var json: [UInt8] {
        var object: JSONObject = [
            "version": .integer(Self.version), "storeID": .string(storeID),
            "lineage": .string(Hex.encode(lineage)),
            "incarnation": .integer(Int(incarnation)), "offset": .offset(offset),
            "chain": .string(Hex.encode(chain)),
        ]
        object.append("lastCommit", lastCommit.map(JSONValue.date))
        object.append("made", .date(created))
        object.append("tool", .string(tool))
        object.append("zones", .array(zones.map { .object($0.json) }))
        return JSONWriter.line(type: "certificate", object)
    }

    /// What a file of JSON certifies.
    ///
    /// - Throws: ``StoreError`` with `invalidArguments` where it is no certificate, with the cause
    ///   `newerFormat` where it is one of a later form. The reason says what is wrong where.
    public init(json bytes: [UInt8]) throws(StoreError) {
        let json: JSONValue
        do throws(JSONError) {
            json = try JSONReader.read(bytes.span)
        } catch {
            throw StoreError(.invalidArguments, "no JSON: \(error.reason), at byte \(error.byte)")
        }
        if case .object(let object) = json, object["type"] == "certificate",
            case .integer(let version) = object["version"], version > Self.version
        {
            var error = StoreError(
                .internalError,
                "expected a certificate of version \(Self.version), found one of \(version)")
            error.cause = .newerFormat
            throw error
        }
        do throws(Mismatch) {
            self = try CertificateBody(json).certificate
        } catch {
            throw StoreError(
                .invalidArguments,
                "no certificate: \(error.path.isEmpty ? "it" : error.path) \(error.reason)")
        }
    }
}

extension Archive.Information.Zone {
    /// As archives and certificates are shown.
    package var json: JSONObject {
        var object: JSONObject = ["zoneName": .string(zoneName)]
        object.append("user", owner.map(JSONValue.string))
        object.append("records", .integer(recordCount))
        object.append("contentHash", contentHash.map(JSONValue.string))
        return object
    }
}

private struct CertificateBody: JSONBody {
    enum Key: String {
        case type, version, storeID, lineage, incarnation, offset, chain, lastCommit, made, tool
        case zones
    }

    let certificate: Certificate

    init(_ keys: JSONKeys<Key>) throws(Mismatch) {
        let type: String = try keys.required(.type)
        guard type == "certificate" else { try keys.refuse(.type, "must be certificate") }
        let version: Int = try keys.required(.version)
        guard version == Certificate.version else {
            try keys.refuse(.version, "must be \(Certificate.version)")
        }
        let storeID: String = try keys.required(.storeID)
        guard storeID.isHex(bytes: 16) else {
            try keys.refuse(.storeID, "must be 32 lower-case hexadecimal digits")
        }
        let incarnation: Int = try keys.required(.incarnation)
        guard (0..<1 << 12).contains(incarnation) else {
            try keys.refuse(.incarnation, "must be from 0 to 4095")
        }
        let offset: String = try keys.required(.offset)
        guard let place = UInt64(offset), place < 1 << 52, String(place) == offset else {
            try keys.refuse(.offset, "must be text, a number from 0 to 2^52 - 1")
        }
        let zones = try keys.required(.zones, as: [ZoneBody].self).map(\.zone)
        guard Set(zones.map(\.key)).count == zones.count else {
            try keys.refuse(.zones, "has a zone twice")
        }
        certificate = Certificate(
            storeID: storeID, lineage: try keys.required(.lineage, as: HexNumber.self).value,
            incarnation: UInt16(incarnation), offset: place,
            chain: try keys.required(.chain, as: HexNumber.self).value,
            lastCommit: try keys.optional(.lastCommit, as: DateText.self)?.value,
            created: try keys.required(.made, as: DateText.self).value,
            tool: try keys.required(.tool), zones: zones)
    }

    private struct ZoneBody: JSONBody {
        enum Key: String { case zoneName, user, records, contentHash }

        let zone: Certificate.Zone

        init(_ keys: JSONKeys<Key>) throws(Mismatch) {
            let count: Int = try keys.required(.records)
            guard count >= 0 else { try keys.refuse(.records, "must not be negative") }
            let hash: String = try keys.required(.contentHash)
            guard hash.isHex(bytes: 32) else {
                try keys.refuse(.contentHash, "must be 64 lower-case hexadecimal digits")
            }
            zone = Certificate.Zone(
                owner: try keys.optional(.user), zoneName: try keys.required(.zoneName),
                recordCount: count, contentHash: hash)
        }
    }

    private struct HexNumber: JSONReadable {
        let value: UInt64

        init(_ json: JSONValue) throws(Mismatch) {
            guard let value = Hex.number(try String(json)[...]) else {
                throw Mismatch("must be 16 lower-case hexadecimal digits")
            }
            self.value = value
        }
    }

    private struct DateText: JSONReadable {
        let value: Date

        init(_ json: JSONValue) throws(Mismatch) {
            let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
            guard let value = try? Date(try String(json), strategy: style) else {
                throw Mismatch("must be a time such as 2026-11-27T01:09:42.637Z")
            }
            self.value = value
        }
    }
}

extension String {
    fileprivate func isHex(bytes count: Int) -> Bool { Hex.decode(self)?.count == count }
}
