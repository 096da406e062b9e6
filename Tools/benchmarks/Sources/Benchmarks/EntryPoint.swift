import FoundationEssentials
import Stratus

@main
struct EntryPoint {
    /// `Benchmarks write STORE SECONDS`: saves at full speed for so long, for others to watch.
    /// `Benchmarks DIRECTORY [SCALE [WORK...]]`: scale 1 is the full run; without WORK, all of
    /// them, in turn and three times, so that a machine that changes its speed changes it for all.
    static func main() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "write" {
            return try await Writer.run(Array(arguments.dropFirst()))
        }
        let directory = arguments.popFirst() ?? "/tmp"
        let scale = arguments.popFirst().flatMap { Double($0) } ?? 1
        let device = Device(under: directory)
        let workloads = Workloads(directory: directory, device: device)
        func scaled(_ count: Int) -> Int { max(200, Int(Double(count) * scale)) }
        func raw(_ count: Int, _ length: Int) async throws -> Measurement {
            try await Raw.writes(scaled(count), of: length, in: directory, on: device)
        }
        let all: [(String, () async throws -> Measurement)] = [
            ("raw-small", { try await raw(5000, 512) }),
            ("w1", { try await workloads.singles(scaled(5000), callers: 1) }),
            ("w2", { try await workloads.singles(scaled(200_000), callers: 64) }),
            ("w2-1000", { try await workloads.singles(scaled(400_000), callers: 1000) }),
            ("raw-large", { try await raw(2000, 80_000) }),
            ("w3", { try await workloads.batches(scaled(400_000)) }),
            ("commit", { try await workloads.oneCommit(scaled(1_000_000)) }),
        ]
        let chosen = arguments.isEmpty ? all : all.filter { arguments.contains($0.0) }
        print("| work | per second | per item | cpu per item | allocations | latency | to device |")
        print("|---|---|---|---|---|---|---|")
        for _ in 0..<3 {
            for (_, work) in chosen { print(try await work().line) }
        }
    }
}
