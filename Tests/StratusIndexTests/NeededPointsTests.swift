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
            let marks = (0..<generator.below(4)).map { _ in UInt64(generator.below(30)) }.sorted()
            let points = NeededPoints(listed, marks: marks, floor: floor)
            let start = UInt64(generator.below(30))
            let end = start + UInt64(generator.below(10))
            let first = (start..<end).first { point in
                (listed + marks).contains(point) || floor.map { point >= $0 } ?? false
            }
            #expect(points.isNeeded(from: start, replacedAt: end) == (first != nil))
            #expect(points.first(from: start, before: end) == first)
            // Of what is kept, without what is only listed.
            let kept = (0..<end).last { point in
                marks.contains(point) || floor.map { point >= $0 } ?? false
            }
            #expect(points.lastKept(before: end) == kept)
        }
    }

    @Test(arguments: UInt64(0)..<20)
    func `what either of two says is kept is kept by both together`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func points() -> NeededPoints {
            NeededPoints(
                (0..<generator.below(3)).map { _ in UInt64(generator.below(30)) },
                marks: (0..<generator.below(4)).map { _ in UInt64(generator.below(30)) }.sorted(),
                floor: generator.oneIn(2) ? nil : UInt64(generator.below(30)))
        }
        for _ in 0..<100 {
            let (one, other) = (points(), points())
            let both = one.keeping(other)
            for point in UInt64(0)..<30 {
                func isNeeded(_ points: NeededPoints) -> Bool {
                    points.isNeeded(from: point, replacedAt: point + 1)
                }
                let unlisted = NeededPoints(marks: other.marks, floor: other.floor)
                #expect(isNeeded(both) == (isNeeded(one) || isNeeded(unlisted)))
            }
        }
    }
}
