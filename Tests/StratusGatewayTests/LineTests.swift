import Stratus
import StratusGateway
import Support
import Testing

/// Requests as lines: the envelope, and lines that are none.
struct LineTests {
    private func answer(_ gateway: TestGateway, _ line: [UInt8], number: Int = 7) async -> Answer {
        Answer(await gateway.gateway.respond(toLine: line, number: number))
    }

    @Test(arguments: [
        "null", "1", "1.0", "-0", "123456789012345678901234567890", "\"a\"", "[1,{\"a\":null}]",
        "9007199254740993",
    ])
    func `an id comes back unchanged`(id: String) async throws {
        let gateway = try await TestGateway()
        for (call, status) in [("zones/list", 200), ("records/changes", 501), ("x", 400)] {
            let line = #"{"call":"\#(call)","id":\#(id),"as":"alice"}"#
            let answer = await answer(gateway, Array(line.utf8))
            #expect(answer.text.hasPrefix(#"{"id":\#(id),"status":\#(status),"body":{"#))
        }
    }

    @Test(arguments: [
        (#"{"id":4,"call":"zones/list","user":"a"}"#, "user"), (#"{"id":4}"#, "call"),
        (#"{"id":4,"call":5}"#, "call"), (#"{"id":4,"call":"zones/list","as":5}"#, "as"),
        (#"{"id":4,"call":"zones/list","as":""}"#, "as"),
        (#"{"id":4,"call":"zones/list","database":"mine"}"#, "database"),
        (#"{"id":4,"call":"zones/list","body":[]}"#, "body"),
        (#"{"id":4,"call":"zones/list","device":5}"#, "device"),
    ])
    func `an envelope that is none is refused by its key`(line: String, key: String) async throws {
        let answer = await answer(try await TestGateway(), Array(line.utf8))
        #expect(answer.text.hasPrefix(#"{"id":4,"status":400,"body":{"#))
        #expect(answer.body["reason"].text?.hasPrefix(key + " ") == true)
    }

    @Test(arguments: ["", "[]", "5", "{", #"{"id":1,"id":2,"call":"zones/list"}"#])
    func `a line that is no request is told by its number`(line: String) async throws {
        let answer = await answer(try await TestGateway(), Array(line.utf8))
        #expect(answer.text.hasPrefix(#"{"id":null,"status":400,"line":7,"body":{"#))
        #expect(answer.code == "BAD_REQUEST" && answer.body["ckErrorCode"].number == 12)
    }

    @Test func `a valid line with any one byte cut, changed or added is answered`() async throws {
        let gateway = try await TestGateway()
        let line = Array(
            (#"{"id":1,"as":"alice","call":"records/modify","body":{"zoneID":{"zoneName":"notes"},"#
                + #""operations":[{"operationType":"forceReplace","record":{"recordName":"r","#
                + #""recordType":"T","fields":{"a":{"value":[1.5],"type":"DOUBLE_LIST"},"#
                + #""b":{"value":"\u00e4ü"}}}}]}}"#).utf8)
        #expect(await answer(gateway, line).status == 200)
        var random = SeededGenerator(seed: 3)
        for place in line.indices {
            var changed = line
            changed[place] = UInt8(random.below(256))
            var longer = line
            longer.insert(UInt8(random.below(256)), at: place)
            for damaged in [Array(line[..<place]), Array(line[(place + 1)...]), changed, longer] {
                let answer = await answer(gateway, damaged)
                #expect([200, 400, 404, 501].contains(answer.status), "\(answer.text)")
            }
            let cut = await answer(gateway, Array(line[..<place]))
            #expect(cut.text.hasPrefix(#"{"id":null,"status":400,"line":7,"#))
        }
        #expect(await answer(gateway, line).status == 200)
    }
}
