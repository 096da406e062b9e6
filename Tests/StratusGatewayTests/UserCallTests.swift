import Stratus
import StratusGateway
import Testing

/// Who the caller and others are: semantics 7 and 12.6, cases C97 and C98.
struct UserCallTests {
    private static let ames = PersonName(givenName: "Alice", familyName: "Ames")

    private func setProfile(
        _ user: String, in gateway: TestGateway, _ change: (inout UserProfile) -> Void
    ) async throws {
        var profile = UserProfile()
        change(&profile)
        try await gateway.container.setUserProfile(profile, for: user)
    }

    @Test(arguments: ["users/caller", "users/current"])
    func `the caller learns its record name and the name that its host has said`(
        call: String
    ) async throws {
        let gateway = try await TestGateway()
        let before = try await gateway.call(call)
        #expect(before.body.names == ["userRecordName"])
        // Whether others may find the caller makes no difference.
        try await setProfile("alice", in: gateway) {
            $0.name = Self.ames
            $0.emailAddresses = ["alice@example.com"]
        }
        let after = try await gateway.call(call)
        #expect(after.body["userRecordName"] == before.body["userRecordName"])
        #expect(
            after.body["nameComponents"].json == #"{"givenName":"Alice","familyName":"Ames"}"#)
        #expect(after.body["firstName"].text == "Alice" && after.body["lastName"].text == "Ames")
        // No address is told to programs.
        #expect(!after.text.contains("example.com"))
        #expect(try await gateway.call(call, as: nil).status == 401)
        #expect(try await gateway.call(call, as: "nobody yet").status == 200)
    }

    @Test func `users are found by their addresses if they want to be found`() async throws {
        let gateway = try await TestGateway()
        for (user, isDiscoverable) in [("bob", true), ("carol", false)] {
            try await setProfile(user, in: gateway) {
                $0.name = PersonName(givenName: user)
                $0.emailAddresses = ["\(user)@example.com"]
                $0.phoneNumbers = ["+1 \(user)"]
                $0.isDiscoverable = isDiscoverable
            }
        }
        let bob = gateway.container.userRecordName(for: "bob")
        for (call, key, prefix, suffix) in [
            ("users/lookup/email", "emailAddress", "", "@example.com"),
            ("users/lookup/phone", "phoneNumber", "+1 ", ""),
        ] {
            let list = ["bob", "carol", "dave"].map {
                #"{"\#(key)":"\#(prefix)\#($0)\#(suffix)"}"#
            }
            let body = list.joined(separator: ",")
            let looked = try await gateway.call(call, #"{"users":[\#(body)]}"#).body["users"]
            let discovered = try await gateway.call(
                "users/discover", #"{"lookupInfos":[\#(body)]}"#
            ).body["users"]
            for users in [looked, discovered] {
                #expect(users.count == 3)
                #expect(users[0]["userRecordName"].text == bob, "\(users.json)")
                #expect(users[0]["nameComponents"].json == #"{"givenName":"bob"}"#)
                for index in 0..<3 { #expect(users[index]["lookupInfo"].json == list[index]) }
                // One who does not want to be found is told of like one who does not exist.
                for index in 1..<3 {
                    #expect(users[index]["serverErrorCode"].text == "NOT_FOUND")
                    #expect(users[index].error == 11)
                    #expect(users[index]["userRecordName"].value == nil)
                    #expect(users[index]["reason"] == users[1]["reason"])
                }
            }
            for wrong in [#"{"users":[{}]}"#, #"{"users":[{"userRecordName":"bob"}]}"#, "{}"] {
                let refused = try await gateway.call(call, wrong)
                #expect(refused.status == 400 && refused.reason.hasPrefix("body.users"))
            }
            let anonymous = try await gateway.call(call, #"{"users":[]}"#, as: nil)
            #expect(anonymous.status == 401)
        }
    }

    @Test(arguments: ["users/lookup", "users/lookup/id"])
    func `a user is found by record name, with the name of one who may be found`(
        call: String
    ) async throws {
        let gateway = try await TestGateway()
        for (user, isDiscoverable) in [("bob", true), ("carol", false)] {
            try await setProfile(user, in: gateway) {
                $0.name = PersonName(familyName: user)
                $0.isDiscoverable = isDiscoverable
            }
        }
        let users = try await gateway.call(
            call,
            #"{"users":[{"userRecordName":"bob"},{"userRecordName":"carol"},"#
                + #"{"userRecordName":"dave"}]}"#
        ).body["users"]
        #expect(users[0]["nameComponents"].json == #"{"familyName":"bob"}"#)
        #expect(users[0]["lastName"].text == "bob" && users[0]["firstName"].value == nil)
        #expect(users[1].names == ["userRecordName"])
        #expect(users[2].error == 11)
    }

    @Test func `all who may be found are discovered page by page`() async throws {
        let gateway = try await TestGateway()
        for number in 0..<7 {
            try await setProfile("user\(number)", in: gateway) {
                $0.isDiscoverable = number % 2 == 0
            }
        }
        let expected = [0, 2, 4, 6].map { gateway.container.userRecordName(for: "user\($0)") }
        for limit in [1, 2, 3, 4, 100] {
            var found: [String] = []
            var marker: String?
            repeat {
                let more = marker.map { #","continuationMarker":"\#($0)""# } ?? ""
                let page = try await gateway.call(
                    "users/discover", #"{"resultsLimit":\#(limit)\#(more)}"#)
                #expect(page.body["users"].count <= limit, "\(page.text)")
                found += page.body["users"].texts("userRecordName")
                marker = page.body["continuationMarker"].text
                try #require(found.count <= 4)
            } while marker != nil
            #expect(found == expected)
        }
        #expect(try await gateway.call("users/discover", as: nil).status == 401)
        for wrong in [
            #"{"lookupInfos":[],"resultsLimit":1}"#, #"{"continuationMarker":"x"}"#,
            #"{"continuationMarker":"0"}"#, #"{"continuationMarker":"01"}"#,
            #"{"resultsLimit":0}"#,
        ] {
            #expect(try await gateway.call("users/discover", wrong).status == 400, "\(wrong)")
        }
    }

    @Test func `who looks after the store lists all of its users`() async throws {
        let gateway = try await TestGateway(grants: [.maintenance])
        try await setProfile("bob", in: gateway) {
            $0.name = Self.ames
            $0.emailAddresses = ["bob@example.com"]
            $0.phoneNumbers = ["+15550100"]
            $0.accountStatus = .restricted
        }
        let all = try await gateway.call("users/list", as: nil)
        #expect(all.body["users"].count == 2 && all.body["continuationMarker"].value == nil)
        let alice = gateway.container.userRecordName(for: "alice")
        let bob = gateway.container.userRecordName(for: "bob")
        #expect(
            all.body["users"][0].json
                == #"{"userRecordName":"\#(alice)","userName":"alice"}"#)
        #expect(
            all.body["users"][1].json
                == #"{"userRecordName":"\#(bob)","userName":"bob","#
                + #""nameComponents":{"givenName":"Alice","familyName":"Ames"},"#
                + #""firstName":"Alice","lastName":"Ames","#
                + #""lookupInfos":[{"emailAddress":"bob@example.com"},"#
                + #"{"phoneNumber":"+15550100"}],"isDiscoverable":false,"#
                + #""accountStatus":"restricted"}"#)
        let first = try await gateway.call("users/list", #"{"resultsLimit":1}"#)
        #expect(first.body["users"].texts("userRecordName") == [alice])
        let marker = try #require(first.body["continuationMarker"].text)
        let second = try await gateway.call(
            "users/list", #"{"resultsLimit":1,"continuationMarker":"\#(marker)"}"#)
        #expect(second.body["users"].texts("userRecordName") == [bob])
        #expect(second.body["continuationMarker"].value == nil)
    }

    // C97, C98.
    @Test(arguments: [
        (AccountStatus.noAccount, 401, 9), (.restricted, 401, 9), (.couldNotDetermine, 401, 9),
        (.temporarilyUnavailable, 400, 36),
    ])
    func `whose account cannot be used makes no calls`(
        status: AccountStatus, code: Int, error: Int
    ) async throws {
        let gateway = try await TestGateway()
        try await setProfile("alice", in: gateway) { $0.accountStatus = status }
        let calls: [(String, String, GatewayRequest.Database)] = [
            ("zones/list", "{}", .private), ("zones/list", "{}", .shared),
            (
                "records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"T"}}]}"#,
                .private
            ),
        ]
        for (call, body, database) in calls {
            let answer = try await gateway.call(call, body, database: database)
            #expect(answer.status == code && answer.body.error == error, "\(answer.text)")
        }
        let read = try await gateway.call("zones/list", database: .public)
        #expect(read.status == 200)
        try await setProfile("alice", in: gateway) { $0.accountStatus = .available }
        #expect(try await gateway.call("zones/list").status == 200)
    }
}
