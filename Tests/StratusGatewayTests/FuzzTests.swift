import FoundationEssentials
import Stratus
import StratusGateway
import Support
import Testing

/// Valid requests, damaged at random: each is answered as the contract says, and nothing else
/// happens. STRATUS_GATEWAY_MUTATIONS says how many.
struct FuzzTests {
    private static let count =
        ProcessInfo.processInfo.environment["STRATUS_GATEWAY_MUTATIONS"].flatMap { Int($0) }
        ?? 2_000
    private static let seed =
        ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) } ?? 1

    private static let zone = #""zoneID":{"zoneName":"notes"}"#
    private static let valid = text.map { Array($0.utf8) }
    private static let text: [String] = [
        #"{"id":1,"as":"alice","call":"zones/list"}"#,
        #"{"id":2,"as":"alice","call":"zones/lookup","body":{"zones":[{"zoneName":"notes"}]}}"#,
        #"{"id":3,"as":"bob","call":"zones/modify","#
            + #""body":{"operations":[{"operationType":"create","#
            + #""zone":{"zoneID":{"zoneName":"n","zoneType":"REGULAR_CUSTOM_ZONE"}}}]}}"#,
        #"{"id":4,"as":"alice","device":"d","call":"records/modify","body":{\#(zone),"#
            + #""atomic":true,"#
            + #""operationID":"o","clientChangeTokenData":"AAEC","operations":[{"operationType":"#
            + #""forceReplace","record":{"recordName":"r","recordType":"T","parent":null,"#
            + #""fields":{"#
            + #""a":{"value":[1.5,-2e10],"type":"DOUBLE_LIST"},"#
            + #""b":{"value":"\u00e4ü\ud83d\ude00"},"#
            + #""c":{"value":1700000000000,"type":"TIMESTAMP","exact":"1700000000.0001"},"#
            + #""d":{"value":{"latitude":1,"longitude":2,"timestamp":3}},"#
            + #""e":{"value":{"recordName":"r","action":"DELETE_SELF"}},"#
            + #""f":{"value":"AAEC","type":"BYTES"},"g":{"value":"s","isEncrypted":true}}}}]}}"#,
        #"{"id":5,"as":"alice","call":"records/lookup","body":{\#(zone),"desiredKeys":["a"],"#
            + #""records":[{"recordName":"r"},{"recordName":"x"}]}}"#,
        #"{"id":6,"as":"alice","call":"changes/zone","body":{"zones":[{\#(zone),"#
            + #""resultsLimit":5}]}}"#,
        #"{"id":7,"as":"alice","call":"changes/database","body":{"resultsLimit":5}}"#,
        #"{"id":8,"as":"alice","call":"records/move","body":{\#(zone),"#
            + #""toZoneID":{"zoneName":"to"},"#
            + #""records":[{"recordName":"r"}],"operationID":"m"}}"#,
        #"{"id":9,"as":"alice","call":"users/discover","body":{"lookupInfos":[{"userRecordName":"#
            + #""bob"}]}}"#,
        #"{"id":10,"database":"public","call":"store/info"}"#,
        #"{"id":11,"as":"alice","call":"records/query","body":{\#(zone),"resultsLimit":5,"query":{"#
            + #""recordType":"T","filterBy":[{"comparator":"LIST_CONTAINS_ALL","fieldName":"a","#
            + #""fieldValue":{"value":[1.5,2]}},{"comparator":"NEAR","fieldName":"d","distance":5,"#
            + #""fieldValue":{"value":{"latitude":1,"longitude":2}}}],"sortBy":[{"fieldName":"d","#
            + #""relativeLocation":{"latitude":1,"longitude":2}}]}}}"#,
        #"{"id":12,"as":"alice","call":"records/query","body":{"zoneWide":true,"query":{"#
            + #""recordType":"T","predicate":"%K = %@ OR NOT self CONTAINS 'x'","arguments":["#
            + #"{"value":"b"},{"value":"\u00e4"}],"sortBy":[{"systemFieldName":"recordName","#
            + #""ascending":false}]}}}"#,
        #"{"id":13,"as":"alice","call":"records/modify","body":{\#(zone),"operations":[{"#
            + #""operationType":"create","record":{"recordType":"cloudkit.share","#
            + #""forRecord":{"recordName":"r"},"publicPermission":"READ_WRITE","#
            + #""participants":[{"userIdentity":{"lookupInfo":{"emailAddress":"b@c.d"}},"#
            + #""role":"USER","permission":"READ_ONLY","acceptanceStatus":"INVITED"}]}}]}}"#,
        #"{"id":14,"as":"bob","database":"public","call":"records/accept","body":{"shortGUIDs":[{"#
            + #""value":"0123456789abcdef0123456789abcdef","shouldFetchRootRecord":true}]}}"#,
        #"{"id":15,"as":"bob","database":"shared","call":"changes/zone","body":{"zones":[{"#
            + #""zoneID":{"zoneName":"notes","#
            + #""ownerRecordName":"_0123456789abcdef0123456789abcdef"}}]}}"#,
        #"{"id":16,"as":"bob","database":"shared","call":"zones/list"}"#,
        #"{"id":17,"call":"users/list","body":{"resultsLimit":1,"continuationMarker":"1"}}"#,
        #"{"id":18,"as":"bob","call":"users/lookup/email","body":{"users":[{"#
            + #""emailAddress":"b@c.d"}]}}"#,
        #"{"id":19,"as":"alice","call":"subscriptions/modify","body":{"operations":[{"#
            + #""operationType":"create","subscription":{"subscriptionID":"q",\#(zone),"#
            + #""subscriptionType":"query","query":{"recordType":"T","filterBy":[{"#
            + #""comparator":"EQUALS","fieldName":"b","fieldValue":{"value":"x"}}]},"#
            + #""firesOn":["create","update"],"notificationInfo":{"alertBody":"b","#
            + #""additionalFields":["b"],"shouldBadge":true}}},{"operationType":"delete","#
            + #""subscription":{"subscriptionID":"z"}}]}}"#,
        #"{"id":20,"as":"alice","call":"notifications/changes","body":{"resultsLimit":5}}"#,
        #"{"id":21,"as":"alice","call":"badge/set","body":{"value":3}}"#,
        #"{"id":22,"as":"alice","device":"d","call":"tokens/register","body":{"#
            + #""apnsEnvironment":"production","apnsToken":"1","clientId":"c"}}"#,
        #"{"id":23,"as":"alice","device":"d","call":"tokens/create","body":{"#
            + #""apnsEnvironment":"development"}}"#,
    ]

    /// What hostile clients like to send.
    private static let fragments =
        [
            "null", "true", "{}", "[]", "[[", "\"\"", "-", "1e999", "99999999999999999999", "-0",
            "0.1",
            "\u{0}", "\\u0000", "\\ud800", "\n", "\"id\":1,", "{\"a\":", "},{", "é", "\u{202e}",
            #""recordName":"_x","#, #""operationType":"delete""#,
        ].map { Array($0.utf8) } + [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80]]

    private func mutate(_ line: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var line = line
        for _ in 0...random.below(3) where !line.isEmpty {
            let place = random.below(line.count)
            let end = min(line.count, place + 1 + random.below(12))
            switch random.below(7) {
            case 0: line[place] ^= 1 << UInt8(random.below(8))
            case 1: line[place] = UInt8(random.below(256))
            case 2: line.removeSubrange(place..<end)
            case 3: line.insert(contentsOf: line[place..<end], at: random.below(line.count))
            case 4:
                line.insert(
                    contentsOf: Self.fragments[random.below(Self.fragments.count)], at: place)
            case 5:
                line.replaceSubrange(
                    place..<end, with: Self.fragments[random.below(Self.fragments.count)])
            default:
                let other = Self.valid[random.below(Self.valid.count)]
                line = Array(line[..<place]) + other.suffix(random.below(other.count))
            }
        }
        return line
    }

    @Test func `a request damaged at random is answered, and the next one as ever`() async throws {
        let gateway = try await TestGateway(grants: [.maintenance])
        var random = SeededGenerator(seed: Self.seed)
        let probe = Array(#"{"id":"probe","as":"probe","call":"zones/list"}"#.utf8)
        let expected = await gateway.gateway.respond(toLine: probe).text
        var statuses: [Int: Int] = [:]
        for number in 0..<Self.count {
            let line = mutate(Self.valid[random.below(Self.valid.count)], &random)
            let response = await gateway.gateway.respond(toLine: line, number: number)
            statuses[response.status, default: 0] += 1
            let isKnown = [200, 400, 401, 403, 404, 409, 412, 501].contains(response.status)
            let answer = try JSONReader.read(Array(response.text.utf8).span)
            let hasLine = Found(answer)["line"].number != nil
            // What is no JSON is told by its number, and only that.
            let isNoJSON = (try? JSONReader.read(line.span)) == nil
            if !isKnown || response.text.contains("\n") || isNoJSON && !hasLine
                || !isNoJSON && hasLine && response.id != .null
            {
                let text = String(decoding: line, as: UTF8.self)
                Issue.record("seed \(Self.seed), \(number): \(text) -> \(response.text)")
            }
            if number % 100 == 0 {
                #expect(await gateway.gateway.respond(toLine: probe).text == expected)
            }
        }
        #expect(statuses[200, default: 0] > 0 && statuses[400, default: 0] > Self.count / 2)
        // The store is whole, whatever was asked of it.
        let verified = try await gateway.call("store/verify")
        #expect(verified.body["findings"].number == 0)
    }
}
