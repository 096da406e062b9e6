import FoundationEssentials
import Stratus
import StratusGateway
import Testing

/// Devices on the wire: the tokens of Web Services.
struct DeviceCallTests {
    private func refusal(
        _ gateway: TestGateway, _ call: String, _ body: String, as user: String? = "alice"
    ) async throws -> String? {
        let answer = try await gateway.call(call, body, as: user)
        #expect(answer.status != 200, "\(answer.text)")
        return answer.code
    }

    @Test func `a token is drawn for a device, which is registered with it`() async throws {
        let gateway = try await TestGateway()
        let answer = try await gateway.call(
            "tokens/create", #"{"apnsEnvironment":"production","clientId":"phone"}"#)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.body.names == ["apnsEnvironment", "apnsToken"])
        #expect(answer.body["apnsEnvironment"].text == "production")
        let token = try #require(answer.body["apnsToken"].text)
        #expect(token.count == 64 && token.allSatisfy { "0123456789abcdef".contains($0) })
        let phone = PushDevice(
            name: "phone", token: Data(token.utf8), environment: .production)
        #expect(try await gateway.container.devices(for: "alice") == [phone])
        // Another one for another device, which the request names.
        let other = try await gateway.call(
            "tokens/create", #"{"apnsEnvironment":"development"}"#, on: "pad")
        #expect(other.body["apnsToken"].text != token)
        let devices = try await gateway.container.devices(for: "alice")
        #expect(devices.map { $0.name } == ["pad", "phone"])
        #expect(devices.first?.environment == .development)
    }

    @Test func `a device registers the token that it has`() async throws {
        let gateway = try await TestGateway()
        let body = #"{"apnsEnvironment":"development","apnsToken":"tøken"}"#
        // What the call names goes before what the request does.
        let named = try await gateway.call(
            "tokens/register",
            #"{"apnsEnvironment":"production","apnsToken":"1","clientId":"watch"}"#, on: "phone")
        #expect(named.status == 200 && named.body.json == "{}", "\(named.text)")
        let answer = try await gateway.call("tokens/register", body, on: "phone")
        #expect(answer.status == 200 && answer.body.json == "{}", "\(answer.text)")
        #expect(
            try await gateway.container.devices(for: "alice") == [
                PushDevice(
                    name: "phone", token: Data("tøken".utf8), environment: .development),
                PushDevice(name: "watch", token: Data("1".utf8), environment: .production),
            ])
    }

    @Test(arguments: ["tokens/create", "tokens/register"])
    func `a token needs a user, a device and an environment`(call: String) async throws {
        let gateway = try await TestGateway()
        let token = call == "tokens/register" ? #","apnsToken":"1""# : ""
        let whole = #"{"apnsEnvironment":"production","clientId":"phone"\#(token)}"#
        #expect(try await refusal(gateway, call, whole, as: nil) == "AUTHENTICATION_FAILED")
        let bodies = [
            #"{"apnsEnvironment":"production"\#(token)}"#,
            #"{"apnsEnvironment":"production","clientId":""\#(token)}"#,
            #"{"apnsEnvironment":"sandbox","clientId":"phone"\#(token)}"#,
            #"{"clientId":"phone"\#(token)}"#,
            #"{"apnsEnvironment":"production","clientId":"phone","webcourierURL":"x"\#(token)}"#,
        ]
        for body in bodies {
            #expect(try await refusal(gateway, call, body) == "BAD_REQUEST", "\(body)")
        }
        #expect(try await gateway.container.devices(for: "alice") == [])
    }

    @Test func `a token is not empty, nor longer than it may be`() async throws {
        let gateway = try await TestGateway()
        for count in [0, 4097] {
            let token = String(repeating: "x", count: count)
            let body =
                #"{"apnsEnvironment":"production","clientId":"phone","apnsToken":"\#(token)"}"#
            #expect(try await refusal(gateway, "tokens/register", body) == "BAD_REQUEST")
        }
    }
}
