import FoundationEssentials
import Support
import Testing

// How many allocations a record costs on the paths that services use most. Unlike times, the counts
// are the same on every machine; in a build for debugging they say nothing.

/// A path, and its allocations for a record.
private let expected: [(path: String, count: Double)] = [
    ("array", 1),
    ("save", 34.0),
    ("insert", 3.39),
    ("read", 8.06),
    ("update", 5.37),
    ("feed", 8.06),
]

#if DEBUG
    private let isOptimised = false
#else
    private let isOptimised = true
#endif

/// What one run of the probe counted.
private let counted: [String: Double] = {
    guard let probe = try? ToolProcess(program: "AllocationProbe") else { return [:] }
    var counted: [String: Double] = [:]
    for _ in expected {
        let words = probe.readLine().split(separator: " ")
        if words.count == 2 { counted[String(words[0])] = Double(words[1]) }
    }
    return counted
}()

/// One that became cheaper gets a new number, so that it stays so.
@Test(.enabled(if: isOptimised), arguments: expected)
func `a record costs as many allocations as it did, within a tenth`(
    path: String, count: Double
) throws {
    let found = try #require(counted[path], "the probe said nothing of \(path)")
    #expect(found <= count * 1.1, "\(path): \(found)")
    #expect(found >= count * 0.9, "\(path): \(found)")
}
