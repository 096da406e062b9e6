import StratusTool
import Testing

struct ProgressTests {
    private let capture = Capture()
    private let second: UInt64 = 1_000_000_000

    private func progress(
        _ mode: Progress.Mode, total: UInt64? = nil, isAnimated: Bool = true, columns: Int = 80
    ) -> Progress {
        let output = capture.output {
            $0.isAnimated = isAnimated
            $0.columns = columns
        }
        return Progress("importing", .items("record"), total: total, mode, to: output, at: second)
    }

    private var lines: [String] { capture.messages.split(separator: "\n").map(String.init) }

    @Test func `it shows at most ten times a second`() {
        var progress = progress(.json)
        for step in 0..<10_000 as Range<UInt64> {
            progress.update(step, at: second + step * 100_000)
        }
        #expect(lines.count == 10)
    }

    @Test(arguments: [
        (Progress.Mode.auto, false, true), (.auto, true, false), (.always, false, false),
        (.always, true, false), (.never, true, true), (.json, false, false), (.json, true, false),
    ])
    func `auto needs a terminal and never means never`(
        mode: Progress.Mode, isAnimated: Bool, isSilent: Bool
    ) {
        var progress = progress(mode, isAnimated: isAnimated)
        progress.update(1, at: second * 2)
        #expect(capture.messages.isEmpty == isSilent)
        #expect(capture.results.isEmpty)
    }

    @Test func `quiet silences auto`() {
        let output = capture.output {
            $0.isAnimated = true
            $0.isQuiet = true
        }
        var progress = Progress("x", .bytes, .auto, to: output, at: 0)
        progress.update(1, at: second)
        progress.finish(at: second)
        #expect(capture.messages.isEmpty)
    }

    @Test func `it counts, and tells the rate and the time left`() {
        var progress = progress(.always, total: 4_800, isAnimated: false)
        progress.update(1_200, at: second * 3)
        #expect(lines == ["importing  1,200 of 4,800 records  25%  600/s  6 s left"])
    }

    @Test func `without a total it only counts`() {
        var progress = progress(.always, isAnimated: false)
        progress.update(1_200, at: second)
        progress.update(2_400, at: second * 2)
        #expect(lines == ["importing  1,200 records", "importing  2,400 records  2,400/s"])
    }

    @Test func `bytes have their own units`() {
        let output = capture.output()
        var progress = Progress("reading", .bytes, total: 4 << 20, .always, to: output, at: 0)
        progress.update(1 << 20, at: second)
        #expect(lines == ["reading  1.0 MiB of 4.0 MiB  25%  1.0 MiB/s  3 s left"])
    }

    @Test func `on a terminal a line takes the place of the one before and goes at the end`() {
        var progress = progress(.auto, columns: 20)
        progress.update(1, at: second)
        progress.update(2, at: second * 2)
        progress.finish(at: second * 2)
        let erase = "\r\u{1B}[K"
        let shown = [erase + "importing  1 record", erase + "importing  2 record", erase]
        #expect(capture.messages == shown.joined())
    }

    @Test func `a message does not mix with the line`() {
        let output = capture.output { $0.isAnimated = true }
        var progress = Progress("x", .bytes, .auto, to: output, at: second)
        progress.update(1, at: second)
        output.message("skipped")
        progress.finish(at: second)
        #expect(capture.messages == "\r\u{1B}[Kx  1 B\r\u{1B}[Kskipped\n")
    }

    @Test func `as objects it ends with the last count`() {
        var progress = progress(.json, total: 10)
        progress.update(4, at: second)
        progress.update(10, at: second + 1)
        progress.finish(at: second * 3)
        let start = #"{"type":"progress","title":"importing","unit":"records","#
        let first = start + #""done":4,"total":10,"seconds":0.0}"#
        let last = start + #""done":10,"total":10,"seconds":2.0,"rate":5.0}"#
        #expect(lines == [first, last])
    }

    @Test func `a clock at its end and a total of nothing do no harm`() {
        var progress = progress(.always, total: 0, isAnimated: false)
        progress.update(5, at: .max)
        progress.update(6, at: .max)
        progress.finish(at: 0)
        #expect(!lines.isEmpty)
    }
}
