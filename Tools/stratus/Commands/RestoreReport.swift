import Stratus
import StratusGateway

// What a restore made, or would make.

extension [RestoredAccess] {
    /// A line for each share and each user with roles.
    ///
    /// - Parameter ended: that it does not come back.
    func write(to output: Output, ended: Bool = false) throws {
        let (type, sign) = ended ? ("endedAccess", "ended: ") : ("access", "")
        for item in self {
            guard let share = item.share else {
                try output.result(
                    type, item.json,
                    text:
                        sign
                        + "roles  \(Output.escaped(item.user))  \(item.roles.joined(separator: ", "))"
                )
                continue
            }
            let others =
                (item.publicPermission == .none ? [] : ["anyone with the link"]) + item.participants
            try output.result(
                type, item.json,
                text: sign + "share  \(Output.escaped(share.zoneID.zoneName))  "
                    + "\(Output.escaped(share.recordName))  \(Output.escaped(item.user))  "
                    + Output.escaped(others.joined(separator: ", ")))
        }
    }
}

extension RestoreReport {
    var json: JSONObject {
        [
            "storeID": .string(storeID), "offset": .offset(offset), "zones": .integer(zoneCount),
            "records": .integer(recordCount), "proved": .boolean(isProved),
            "seconds": .double(seconds),
        ]
    }

    var seconds: Double { duration / .seconds(1) }

    func text(_ path: String) -> String {
        "\(Output.escaped(path)): \(Quantities.count(recordCount, "record")) in "
            + "\(Quantities.count(zoneCount, "zone")), as of offset \(offset)"
            + (isProved ? "; proved by content hashes" : "")
    }
}

extension StoreRestorePlan {
    /// A line for each zone, user and access, and what it would be together.
    func write(_ path: String, isClone: Bool, to output: Output) throws {
        try output.header(schema: "stratus.plan/1")
        for zone in zones {
            var object: JSONObject = ["zoneName": .string(zone.zoneName)]
            object.append(databaseOf: zone.owner)
            object.append("records", .integer(zone.recordCount))
            try output.result(
                "zone", object,
                text: "zone  \(Quantities.count(zone.recordCount, "record"))  "
                    + "\(Output.escaped(zone.zoneName))  \(Output.escaped(zone.owner ?? "public"))")
        }
        for user in users {
            try output.result(
                "user", ["user": .string(user)], text: "user  \(Output.escaped(user))")
        }
        try access.write(to: output)
        try endedAccess.write(to: output, ended: true)
        var object: JSONObject = ["dryRun": .boolean(true), "clone": .boolean(isClone)]
        object.append("storeID", isClone ? nil : .string(storeID))
        object.append("offset", .offset(offset))
        object.append("zones", .integer(zones.count))
        object.append("records", .integer(recordCount))
        object.append("users", .integer(users.count))
        try output.summary(
            object,
            text:
                "would make \(Output.escaped(path)): \(Quantities.count(recordCount, "record")) in "
                + "\(Quantities.count(zones.count, "zone")) of "
                + "\(Quantities.count(users.count, "user")), as of offset \(offset); "
                + (isClone ? cloneText : "the same store: change tokens from up to there stay good")
        )
    }

    private var cloneText: String {
        let access =
            if !endedAccess.isEmpty {
                "shares are ended and roles taken back"
            } else if self.access.isEmpty {
                "nothing is shared in it, and no user has roles"
            } else {
                "shares and roles stay"
            }
        return "another store: no change token of the original is good in it, \(access)"
    }
}
