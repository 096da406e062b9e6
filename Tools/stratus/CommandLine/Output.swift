package import StratusGateway
internal import Synchronization

/// Where a command's results and messages go: results to standard output or to a file, messages,
/// errors and progress to standard error; as lines of text, or as one JSON object per line.
///
/// A command says both, and ``line(_:_:)`` does nothing under `--json`, ``object(_:_:)`` nothing
/// without it. Results leave in whole lines: at once on a terminal and, so that a reader can begin, the
/// first one, else when 64 KiB have gathered; a command that waits for something calls ``flush()``
/// first. Of one instance all tasks may write.
package final class Output: Sendable {
    package enum Channel: Sendable {
        case results
        case messages
    }

    /// How it shall look.
    package struct Settings: Sendable {
        package var isJSON = false
        package var isQuiet = false
        package var hasHeader = false
        package var resultsAreOnTerminal = false
        package var messagesAreOnTerminal = false
        package var isStyled = false
        /// Whether a line of the terminal on standard error can be written over.
        package var isAnimated = false
        package var columns = 80
        package var localTime = LocalTime.utc

        package init() {}
    }

    /// The reader of the results has closed the pipe. Not a failure: the process ends silently.
    package struct Closed: Error {}

    /// Writes all the bytes; false where their reader has gone.
    package typealias Write = @Sendable ([UInt8], Channel) throws -> Bool

    package enum Style: String, Sendable {
        case plain = ""
        case bold = "1"
        case dim = "2"
        case red = "31"
        case yellow = "33"
    }

    private struct State {
        var gathered: [UInt8] = []
        /// Whether anything has left.
        var hasBegun = false
        /// What is to be erased before anything else appears on the terminal.
        var showsProgress = false
        var hasBytes = false
        /// Why results could not be written.
        var failure: (any Error)?
    }

    private static let gatheringLimit = 65_536

    package let settings: Settings
    private let write: Write
    private let publish: @Sendable () throws -> Void
    private let state = Mutex(State())

    /// `publish` is called whenever what was written so far may be read.
    package init(
        _ settings: Settings, publish: @escaping @Sendable () throws -> Void = {},
        write: @escaping Write
    ) {
        self.settings = settings
        self.publish = publish
        self.write = write
    }

    /// Whether objects are written rather than lines.
    package var isJSON: Bool { settings.isJSON }
}

/// Results.
extension Output {
    /// A line of text. Data in it goes through ``escaped(_:)`` first; what then is still hazardous
    /// is escaped here.
    package func line(_ text: String = "", _ style: Style = .plain) throws {
        if isJSON { return }
        let styled = settings.resultsAreOnTerminal && settings.isStyled
        try gather(Array(Self.styled(text.harmless, styled ? style : .plain).utf8))
    }

    /// An object, as a line. Its first member is `type`; the others follow as given.
    package func object(_ type: String, _ object: @autoclosure () -> JSONObject) throws {
        guard isJSON else { return }
        try gather(JSONWriter.line(type: type, object()))
    }

    /// A result in both forms, of which only the wanted one is made.
    package func result(
        _ type: String, _ object: @autoclosure () -> JSONObject, text: @autoclosure () -> String
    ) throws {
        if isJSON { try self.object(type, object()) } else { try line(text()) }
    }

    /// The first line, where `--header` asks for one: the schema, such as `stratus.log/1`, or the
    /// names of the columns.
    package func header(schema: String, columns: String? = nil) throws {
        guard settings.hasHeader else { return }
        try object("header", ["schema": .string(schema)])
        if let columns { try line(columns, .bold) }
    }

    /// The last line: what was done. As text it is left out under `--quiet`.
    package func summary(_ object: @autoclosure () -> JSONObject, text: String? = nil) throws {
        try self.object("summary", object())
        if let text, !settings.isQuiet { try line(text) }
    }

    /// Text for another program, written as it is, in either mode.
    package func verbatim(_ text: String) throws {
        try gather(Array(text.utf8), isLine: false)
    }

    /// The same of a line, which comes without its end.
    package func verbatim(line: [UInt8]) throws { try gather(line) }

    /// Bytes that are no text, written at once and as they are.
    package func bytes(_ bytes: [UInt8]) throws {
        try state.withLock { state in
            try send(&state)
            state.hasBytes = true
            try send(bytes, &state)
        }
    }

    private func send(_ bytes: [UInt8], _ state: inout State) throws {
        do {
            guard try write(bytes, .results) else { throw Closed() }
        } catch {
            state.failure = error
            throw error
        }
    }

    /// Why results could not be written, whatever became of that error on its way.
    var failure: (any Error)? { state.withLock { $0.failure } }

    /// Whether any such bytes may have been written, behind which nothing else can begin.
    package var hasBytes: Bool { state.withLock { $0.hasBytes } }

    /// Sends off what has gathered, which may be read from now on.
    package func flush() throws {
        try state.withLock { state in try send(&state) }
        try publish()
    }

    private func gather(_ text: [UInt8], isLine: Bool = true) throws {
        try state.withLock { state in
            state.gathered += text
            if isLine { state.gathered.append(UInt8(ascii: "\n")) }
            let isFirst = isLine && !state.hasBegun
            if settings.resultsAreOnTerminal || isFirst
                || state.gathered.count >= Self.gatheringLimit
            {
                try send(&state)
            }
        }
    }

    private func send(_ state: inout State) throws {
        guard !state.gathered.isEmpty else { return }
        if settings.resultsAreOnTerminal { erase(&state) }
        // Emptied first: what failed once is not tried again at the end of the process.
        let bytes = state.gathered
        state.gathered.removeAll(keepingCapacity: true)
        state.hasBegun = true
        try send(bytes, &state)
    }
}

/// Messages. A failure to write one is not reported: there is nowhere left to report it.
extension Output {
    /// What a person may like to know, and `--quiet` leaves out.
    package func message(_ text: String) {
        if settings.isQuiet { return }
        if isJSON {
            say(JSONWriter.line(type: "message", ["message": .string(text)]))
        } else {
            say(text.harmless)
        }
    }

    /// Something was left out or looks wrong, and the command goes on.
    package func warning(_ id: String, _ message: String, file: String? = nil) {
        if isJSON {
            var object: JSONObject = ["id": .string(id), "message": .string(message)]
            object.append("file", file.map(JSONValue.string))
            say(JSONWriter.line(type: "warning", object))
        } else {
            let place = file.map { Self.escaped($0) + ": " } ?? ""
            say(styledMessage("stratus:", .yellow) + " \(place)\(Self.escaped(message))")
        }
    }

    /// Why the command ends.
    package func report(_ error: ToolError) {
        // What was found before the error comes before it where both have one reader.
        try? state.withLock { state in try send(&state) }
        if isJSON {
            say(JSONWriter.line(type: "error", error.json))
            return
        }
        let text = Self.escaped(error.message + error.place)
        say(styledMessage("stratus:", .red) + " " + text)
        if let hint = error.hint, !settings.isQuiet {
            say(styledMessage("hint:", .dim) + " " + Self.escaped(hint))
        }
    }

    /// A line of our own on standard error, already harmless.
    func say(_ line: [UInt8]) {
        state.withLock { state in
            erase(&state)
            _ = try? write(line + [UInt8(ascii: "\n")], .messages)
        }
    }

    func say(_ line: String) { say(Array(line.utf8)) }

    private func styledMessage(_ text: String, _ style: Style) -> String {
        let styled = settings.messagesAreOnTerminal && settings.isStyled
        return Self.styled(text, styled ? style : .plain)
    }

    private static func styled(_ text: String, _ style: Style) -> String {
        style == .plain ? text : "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m"
    }
}

/// The line of progress, which ``Progress`` makes.
extension Output {
    private static let eraseLine = "\r\u{1B}[K"

    /// Puts `line` in the place of the one before.
    func showProgress(_ line: String) {
        state.withLock { state in
            state.showsProgress = true
            _ = try? write(Array((Self.eraseLine + line).utf8), .messages)
        }
    }

    func eraseProgress() {
        state.withLock { state in erase(&state) }
    }

    private func erase(_ state: inout State) {
        guard state.showsProgress else { return }
        state.showsProgress = false
        _ = try? write(Array(Self.eraseLine.utf8), .messages)
    }
}
