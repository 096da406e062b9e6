import StratusIndex
import Support
import Testing

@Suite struct NeededPointsTests {
    @Test(arguments: UInt64(0)..<20)
    func `an entry is needed while a point sees it and not what replaced it`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            let listed = (0..<generator.below(5)).map { _ in UInt64(generator.below(30)) }
            let floor = generator.oneIn(2) ? nil : UInt64(generator.below(30))
            let points = NeededPoints(listed, floor: floor)
            let start = UInt64(generator.below(30))
            let end = start + UInt64(generator.below(10))
            let isSeen = (start..<end).contains { point in
                listed.contains(point) || floor.map { point >= $0 } ?? false
            }
            #expect(points.isNeeded(from: start, replacedAt: end) == isSeen)
        }
    }
}
