internal import StratusFiles

extension Output.Settings {
    package init(_ invocation: Invocation, _ surroundings: Surroundings) {
        self.init(surroundings)
        isJSON = invocation.wantsJSON
        isQuiet = invocation.isQuiet
        hasHeader = invocation.wantsHeader
        resultsAreOnTerminal = surroundings.outputIsTerminal && invocation.outputPath == nil
        isStyled = isStyled && !invocation.refusesColor
    }

    /// Before the command line is understood.
    package init(_ surroundings: Surroundings) {
        self.init()
        resultsAreOnTerminal = surroundings.outputIsTerminal
        messagesAreOnTerminal = surroundings.errorIsTerminal
        isStyled = !surroundings.refusesColor && !surroundings.isDumb
        isAnimated = surroundings.errorIsTerminal && !surroundings.isDumb
        columns = surroundings.columns ?? 80
        localTime = surroundings.localTime
    }
}

extension Output {
    /// Writes to the process's streams, results to `file` where there is one.
    convenience init(_ settings: Settings, file: OutputFile? = nil) {
        self.init(settings, publish: { try file?.publish() }) { bytes, channel in
            switch channel {
            case .results: try file?.write(bytes) ?? Terminal.write(bytes.span, to: .output)
            case .messages: try Terminal.write(bytes.span, to: .error)
            }
        }
    }
}
