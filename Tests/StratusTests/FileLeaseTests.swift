import StratusEngine
import Testing

/// Which files may be deleted when.
@Suite struct FileLeaseTests {
    private let released = ReleasedFiles()

    @Test func `files go once no state holds the lease of their time or an older one`() {
        var first: FileLease? = FileLease(released)
        var second = first?.giveUp(["a"])
        let third = second?.giveUp(["b"])
        second = nil
        #expect(released.take() == [])
        first = nil
        #expect(released.take().sorted() == ["a", "b"])
        withExtendedLifetime((second, third)) {}
    }

    @Test func `what was given up since a lease is taken back once`() {
        let first = FileLease(released)
        var last: FileLease? = first.giveUp(["a"]).giveUp(["b", "c"])
        #expect(first.takeBack() == ["a", "b", "c"])
        last = nil
        #expect(released.take() == [])
        #expect(first.takeBack() == [])
        last = first.giveUp(["d"])
        #expect(released.take() == [])
        #expect(first.takeBack() == ["d"])
        withExtendedLifetime(last) {}
    }
}
