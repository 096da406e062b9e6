extension Tool {
    /// The tool as it is built: what the table declares, and what does it.
    package static let stratus = Tool(.stratus, handlers)

    /// By the names of the commands. Each command that opens a store adds a line here.
    private static let handlers: [String: Handler] =
        informing(about: .stratus).merging([
            "import": { try await Import.run($0, $1) },
            "export": { try await Export.run($0, $1) },
            "exec": Exec.run,
            "follow": Follow.run,
            "info": Show.info,
            "users": Show.users,
            "zones": Show.zones,
            "records": Show.records,
            "show": Show.record,
            "query": Find.run,
            "tree": Tree.run,
            "shares": Shares.run,
            "why": Rights.why,
            "who-can": Rights.whoCan,
            "what-can": Rights.whatCan,
            "subscriptions": Subscriptions.run,
            "notifications": Notifications.run,
            "devices": Devices.run,
            "log": Log.run,
            "changes": Show.changes,
            "token": Tokens.run,
            "history": Past.history,
            "blame": Past.blame,
            "mark": Keep.marks,
            "retention": Keep.retention,
            "backup": Backup.run,
            "backups": Backup.look,
            "restore": Restore.run,
            "revert": Restore.revert,
            "copy": Restore.copy,
            "verify": Verify.run,
            "hash": Hash.run,
            "asset": Assets.read,
            "stats": Maintain.stats,
            "gc": Collect.run,
            "compact": Compact.run,
            "checkpoint": Maintain.checkpoint,
            "reindex": Maintain.reindex,
            "schema": SchemaText.run,
        ]) { first, _ in first }
}
