import FoundationEssentials
import Synchronization

/// What the report of a campaign says beside the results of its tests.
package enum CampaignReport {
    /// One test at a time.
    private static let adding = Mutex(())

    /// Adds Markdown to the file STRATUS_REPORT, where there is one.
    package static func add(_ text: String) {
        guard let path = ProcessInfo.processInfo.environment["STRATUS_REPORT"] else { return }
        let url = URL(filePath: path)
        adding.withLock { _ in
            let before = (try? Data(contentsOf: url)) ?? Data()
            try? (before + Data((text + "\n").utf8)).write(to: url)
        }
    }
}
