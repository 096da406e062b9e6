internal import Stratus
internal import StratusFiles

/// What a command does. It writes to the output, says by its code how that went, and throws what
/// stopped it; ``ToolError/init(describing:)`` turns that into words and a code.
package typealias Handler = @Sendable (Invocation, Output) async throws -> ExitCode

/// The tool: a table of commands, and what each of them does.
package struct Tool: Sendable {
    package let table: CommandTable
    /// By the names of the commands.
    package let handlers: [String: Handler]

    package init(_ table: CommandTable, _ handlers: [String: Handler]) {
        self.table = table
        self.handlers = handlers
    }

    /// Does what the words of a command line ask for, on the process's streams. A word of nil is
    /// one that is not UTF-8.
    ///
    /// Never on the main actor: a command may block its thread.
    @concurrent
    package func run(_ words: [String?], _ surroundings: Surroundings) async -> ExitCode {
        var invocation: Invocation
        do {
            invocation = try parse(words)
            invocation.localTime = surroundings.localTime
        } catch {
            var settings = Output.Settings(surroundings)
            settings.isJSON = ArgumentParser.wantsJSON(words.compactMap(\.self))
            Output(settings).report(error)
            return error.code
        }
        if surroundings.isProcess {
            switch invocation.command.whenStopped {
            case .ends: break
            case .undoes: Terminal.catchStopSignals()
            case .removesDirectory: Self.discardUnfinishedWhenStopped()
            }
        }
        let settings = Output.Settings(invocation, surroundings)
        guard let path = invocation.outputPath else {
            return await perform(invocation, Output(settings))
        }
        do {
            let file = try OutputFile(path)
            let code = await perform(invocation, Output(settings, file: file))
            try file.close()
            return code
        } catch {
            Output(settings).report(error)
            return error.code
        }
    }

    /// Runs one command and reports what it throws.
    package func perform(_ invocation: Invocation, _ output: Output) async -> ExitCode {
        do {
            guard let handler = handlers[invocation.command.name] else {
                throw ToolError(
                    .internal, id: "tool.no-handler",
                    "\(invocation.command.name) is declared, but not built in")
            }
            invocation.openings.report(to: output)
            let code = try await handler(invocation, output)
            try output.flush()
            return code == .ok && invocation.openings.foundPossibleLoss ? .possibleLoss : code
        } catch {
            let error = output.failure ?? error
            if error is Output.Closed { return .brokenPipe }
            if invocation.command.whenStopped != .ends, let signal = Terminal.requestedStop {
                // It may have failed for that.
                FreshDirectory.discardAll()
                return .signal(signal)
            }
            var told = ToolError(describing: error)
            if error is StoreError, told.isOfStore, told.file == nil {
                told.file = invocation.optionalArgument("STORE")
            }
            if told.id == ToolError.noStore, let path = invocation.optionalArgument("STORE") {
                told = .file(path, insteadOfStore: told)
            }
            output.report(told)
            return told.code
        }
    }

    /// From now on a signal that stops the process first removes the directories that are not complete.
    private static func discardUnfinishedWhenStopped() {
        Terminal.catchStopSignals()
        try? Thread.start {
            while true {
                if let signal = Terminal.requestedStop {
                    FreshDirectory.discardAll()
                    Terminal.exit(ExitCode.signal(signal).number)
                }
                Thread.pause(microseconds: 20_000)
            }
        }
    }

    private func parse(_ words: [String?]) throws(ToolError) -> Invocation {
        var known: [String] = []
        for (place, word) in words.enumerated() {
            guard let word else {
                throw .usage("not-utf8", "argument \(place + 1) is not UTF-8")
            }
            known.append(word)
        }
        return try ArgumentParser.parse(known, table)
    }
}
