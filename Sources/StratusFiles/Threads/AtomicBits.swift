internal import Glibc
internal import Synchronization

/// A set of small numbers, to which any thread adds without a lock; none is taken out.
final class AtomicBits: Sendable {
    /// Where its words begin.
    private let address: UInt
    private let count: Int

    /// Of numbers below `count`; nil where there is no memory for it.
    ///
    /// Safe: zeros are atomic words that hold 0.
    init?(count: Int) {
        let wordCount = max(1, (count + 63) / 64)
        guard let memory = unsafe calloc(wordCount, MemoryLayout<Atomic<UInt64>>.stride) else {
            return nil
        }
        address = UInt(bitPattern: memory)
        self.count = count
    }

    /// Safe: it was allocated for this set, which no thread refers to any more.
    deinit { unsafe free(UnsafeMutableRawPointer(bitPattern: address)) }

    /// The word of a number, which must be below the count.
    ///
    /// Safe: it is changed by atomic operations alone, and stays for as long as this is there.
    private func word(of number: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        precondition(number >= 0 && number < count)
        let words = unsafe UnsafeMutablePointer<Atomic<UInt64>>(bitPattern: address)
        return unsafe words.unsafelyUnwrapped + number / 64
    }

    func containsAll(of numbers: Range<Int>) -> Bool {
        for number in numbers {
            // Safe: the word is there.
            let bits = unsafe word(of: number).pointee.load(ordering: .relaxed)
            if bits & (1 << UInt64(number % 64)) == 0 { return false }
        }
        return true
    }

    func insert(_ numbers: Range<Int>) {
        for number in numbers {
            // Safe: the word is there.
            _ = unsafe word(of: number).pointee.bitwiseOr(
                1 << UInt64(number % 64), ordering: .relaxed)
        }
    }
}
