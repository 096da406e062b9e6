import FoundationEssentials
import Stratus
import StratusTool
import Testing

/// The command about devices.
@Suite struct DeviceCommandTests {
    private let place: Place
    private let alice: String

    init() async throws {
        place = try Place()
        let container = try await Container.open(at: place.path + "/store", creating: true)
        alice = container.userRecordName(for: "alice")
        for (user, name, token) in [
            ("alice", "phone", Data("token".utf8)), ("alice", "old", Data("old".utf8)),
            ("alice", "pad", Data([0, 0xff])), ("bob", "phone", Data("b".utf8)),
        ] {
            try await container.registerDevice(
                PushDevice(name: name, token: token, environment: .production), for: user)
        }
        try await container.removeDevice(named: "old", for: "alice")
        try await container.close()
    }

    /// The position of each device in the order of the lines.
    private func positions(_ user: String) async throws -> [UInt64] {
        let container = try await Container.openReadOnly(at: place.path + "/store")
        return try await container.deviceStates(for: user).map { $0.position }
    }

    private func results(_ line: String, json: Bool = false) async throws -> String {
        let run = try await place.run(line, json: json)
        #expect(run.code == .ok, "\(line): \(run.messages)")
        return run.results
    }

    @Test func `devices are listed with their tokens and positions`() async throws {
        let (alices, bobs) = (try await positions("alice"), try await positions("bob"))
        try #require(alices.count == 2 && bobs.count == 1)
        let pad = "alice  pad  production  0x00ff  \(alices[0])\n"
        let phone = "alice  phone  production  token  \(alices[1])\n"
        let other = "bob  phone  production  b  \(bobs[0])\n"
        #expect(try await results("devices @/store") == pad + phone + other)
        #expect(try await results("devices @/store --user alice") == pad + phone)
        let none = try await place.run("devices @/store --user nobody")
        #expect(none.code == .notFound && none.messages.contains("no user nobody"))
    }

    @Test func `as JSON a token is text, or hexadecimal digits`() async throws {
        let positions = try await positions("alice")
        try #require(positions.count == 2)
        let start = #"{"type":"device","user":"\#(alice)","userName":"alice","device":"#
        let first =
            #""pad","environment":"production","tokenHex":"00ff","position":"\#(positions[0])"}"#
        let second =
            #""phone","environment":"production","token":"token","position":"\#(positions[1])"}"#
        #expect(
            try await results("devices @/store --user alice", json: true)
                == start + first + "\n" + start + second + "\n")
    }
}
