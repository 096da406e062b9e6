import CCounting
import Glibc

/// Reads the meters before and after; time, CPU time and allocations are those inside `timed` alone.
final class Probe {
    private let device: Device
    private let syncs: UInt64
    private let written: Int
    private let flushes: Int
    private let memory: Int
    private(set) var seconds = 0.0
    private var cpuSeconds = 0.0
    private var allocations: UInt64 = 0

    /// Everything that was written before is on the medium by now, and counts no more.
    init(on device: Device) {
        self.device = device
        sync()
        Memory.resetPeak()
        memory = Memory.status("VmRSS")
        syncs = counting_syncs()
        written = device.bytesWritten
        flushes = device.flushes
    }

    func timed<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        let allocated = counting_allocations()
        let cpu = cpuTime()
        let start = nanoseconds()
        defer {
            seconds += Double(nanoseconds() - start) / 1e9
            cpuSeconds += cpuTime() - cpu
            allocations += counting_allocations() - allocated
        }
        return try await body()
    }

    /// What was written and not yet on its way to the medium counts too, but not its time.
    func finish(_ measurement: inout Measurement) {
        measurement.seconds = seconds
        measurement.cpuSeconds = cpuSeconds
        measurement.allocations = allocations
        measurement.syncs = counting_syncs() - syncs
        measurement.flushesOfDevice = device.flushes - flushes
        measurement.peakMemory = max(0, Memory.status("VmHWM") - memory)
        sync()
        measurement.bytesToDevice = device.bytesWritten - written
    }
}
