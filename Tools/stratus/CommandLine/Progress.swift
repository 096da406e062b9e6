internal import StratusGateway

/// How far a command has come, on standard error, at most ten times a second.
///
/// The caller tells the time, in nanoseconds of a clock that never goes back, so that tests can.
package struct Progress {
    package enum Mode: String, CaseIterable, Sendable {
        /// On a terminal whose lines can be written over.
        case auto
        /// Elsewhere too: there as lines.
        case always
        case never
        /// As JSON objects.
        case json
    }

    package enum Unit: Equatable, Sendable {
        /// Things, in the singular: `record`.
        case items(String)
        case bytes
    }

    private enum Form { case none, animated, lines, objects }

    private static let pauseInNanoseconds: UInt64 = 100_000_000

    private let title: String
    private let unit: Unit
    private let output: Output
    private let form: Form
    private let start: UInt64
    private var lastShown: UInt64?
    private var done: UInt64 = 0
    /// Nil while it is unknown.
    private var total: UInt64?

    /// `title` says what is done: `importing`.
    package init(
        _ title: String, _ unit: Unit, total: UInt64? = nil, _ mode: Mode, to output: Output,
        at now: UInt64
    ) {
        self.title = title
        self.unit = unit
        self.total = total
        self.output = output
        self.start = now
        let settings = output.settings
        switch mode {
        case .json: form = .objects
        case .always: form = settings.isAnimated ? .animated : .lines
        case .auto: form = settings.isAnimated && !settings.isQuiet ? .animated : .none
        case .never: form = .none
        }
    }

    /// Whether any of it is shown.
    package var isShown: Bool { form != .none }

    /// `done` of `total` are done now. Cheap to call for each of them.
    package mutating func update(_ done: UInt64, of total: UInt64? = nil, at now: UInt64) {
        self.done = done
        if let total { self.total = total }
        if form == .none { return }
        if let lastShown, now - min(lastShown, now) < Self.pauseInNanoseconds { return }
        show(at: now)
    }

    /// Leaves a terminal as if there had been no progress; lines and objects get their last one.
    package mutating func finish(at now: UInt64) {
        switch form {
        case .none: break
        case .animated: output.eraseProgress()
        case .lines, .objects: show(at: now)
        }
    }

    private mutating func show(at now: UInt64) {
        lastShown = now
        let seconds = Double(now - min(start, now)) / 1e9
        switch form {
        case .none: break
        case .animated:
            // A line that wraps cannot be written over.
            output.showProgress(String(text(seconds).prefix(output.settings.columns - 1)))
        case .lines: output.say(text(seconds))
        case .objects: output.say(JSONWriter.line(type: "progress", object(seconds)))
        }
    }
}

extension Progress {
    /// `importing  1,200 of 4,800 records  25%  600/s  6 s left`.
    private func text(_ seconds: Double) -> String {
        var parts = [Output.escaped(title)]
        let reached = total.map { "\(amount(done, isLast: false)) of \(amount($0))" }
        parts.append(reached ?? amount(done))
        if let total, total > 0 {
            parts.append("\(Int((fraction(of: total) * 100).rounded(.down)))%")
        }
        if let rate = rate(seconds) {
            let whole = UInt64(min(rate, 1e18))
            parts.append((unit == .bytes ? Quantities.size(whole) : Quantities.count(whole)) + "/s")
        }
        if let left = secondsLeft(seconds) {
            parts.append(Quantities.remaining(seconds: left) + " left")
        }
        return parts.joined(separator: "  ")
    }

    private func object(_ seconds: Double) -> JSONObject {
        let name =
            switch unit {
            case .items(let name): Quantities.plural(of: name)
            case .bytes: "bytes"
            }
        var object: JSONObject = [
            "title": .string(title), "unit": .string(name), "done": .integer(Int(clamping: done)),
        ]
        object.append("total", total.map { .integer(Int(clamping: $0)) })
        object.append("seconds", .double(seconds))
        object.append("rate", rate(seconds).map(JSONValue.double))
        object.append("secondsLeft", secondsLeft(seconds).map(JSONValue.double))
        return object
    }

    private func amount(_ value: UInt64, isLast: Bool = true) -> String {
        switch unit {
        case .bytes: Quantities.size(value)
        case .items(let name):
            isLast ? Quantities.count(value, Output.escaped(name)) : Quantities.count(value)
        }
    }

    /// A total may have been a guess, and passed.
    private func fraction(of total: UInt64) -> Double {
        min(1, Double(done) / Double(total))
    }

    /// Over the whole time: it is calm, and so is what is left. Nil in the first tenth of a second.
    private func rate(_ seconds: Double) -> Double? {
        seconds < 0.1 ? nil : Double(done) / seconds
    }

    private func secondsLeft(_ seconds: Double) -> Double? {
        guard let total, total > done, let rate = rate(seconds), rate > 0 else { return nil }
        return Double(total - done) / rate
    }
}
