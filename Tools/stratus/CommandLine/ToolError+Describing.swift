internal import Stratus
internal import StratusFiles

extension ToolError {
    /// What any error that a command throws means to the tool's user.
    package init(describing error: any Error) {
        switch error {
        case let error as ToolError: self = error
        case let error as SystemError: self.init(error)
        case let error as StoreError: self.init(error)
        default: self.init(.internal, id: "tool.internal", "\(error)")
        }
    }

    /// What it means that a file or directory cannot be used that the command line names:
    /// `failure` says for what.
    init(_ error: SystemError, _ failure: String, _ path: String) {
        self.init(error)
        message = "\(failure): \(error)"
        file = path
    }

    private init(_ error: SystemError) {
        let message = error.description
        switch error.code {
        case .noSpace: self.init(.noSpace, id: "system.no-space", message)
        case .permission, .outsideBounds, .insideStore:
            self.init(.permission, id: "system.permission", message)
        case .exists: self.init(.exists, id: "system.exists", message)
        case _ where error.isOfPath: self.init(.notFound, id: "system.not-found", message)
        default: self.init(.internal, id: "system." + error.call.description, message)
        }
    }
}
