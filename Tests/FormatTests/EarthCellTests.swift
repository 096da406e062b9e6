import StratusEngine
import StratusLanguage
import Support
import Testing

/// The cells of places, and those around a point: `Formats/Index.md`, "Declared indexes".
@Suite struct EarthCellTests {
    /// Anywhere, or near a pole, the meridian of 180 degrees or another place.
    private static func place(
        _ generator: inout SeededGenerator, near other: GeographicPoint? = nil
    ) -> GeographicPoint {
        func number(_ limit: Double) -> Double {
            (Double(generator.below(2_000_001)) / 1_000_000 - 1) * limit
        }
        var place = GeographicPoint(latitude: number(90), longitude: number(180))
        switch generator.below(6) {
        case 0: place.latitude = generator.oneIn(2) ? 90 - abs(number(0.01)) : -90
        case 1: place.longitude = (generator.oneIn(2) ? 180 : -180) + number(0.01)
        case 2: place.longitude += 360 * Double(generator.below(5))
        default: break
        }
        guard let other, !generator.oneIn(3) else { return place }
        let distance = [1e-5, 0.01, 1, 20][generator.below(4)]
        return GeographicPoint(
            latitude: max(-90, min(90, other.latitude + number(distance))),
            longitude: other.longitude + number(distance))
    }

    @Test func `the cells around a point have all places that are so near`() throws {
        var generator = SeededGenerator(seed: 71)
        var insideCount = 0
        for _ in 0..<20_000 {
            let center = Self.place(&generator)
            let circle = try #require(GreatCircle(from: center))
            let other = Self.place(&generator, near: center)
            let distance = try #require(circle.kilometres(to: other))
            let kilometres = [distance, distance * 1.5, 0, 0.001, 5, 500, 20_000][
                generator.below(7)]
            guard distance <= kilometres else { continue }
            insideCount += 1
            let cell = try #require(
                EarthCell.number(latitude: other.latitude, longitude: other.longitude))
            let cells = EarthCell.numbers(around: center, kilometres: kilometres)
            #expect(
                cells.contains { $0.contains(cell) },
                "\(other) is \(distance) km from \(center), not \(kilometres)")
            #expect(cells.count < 40)
            #expect(zip(cells, cells.dropFirst()).allSatisfy { $0.upperBound < $1.lowerBound })
        }
        #expect(insideCount > 5_000)
    }

    /// Otherwise an index would be of no use.
    @Test func `the cells around a point are few`() {
        var generator = SeededGenerator(seed: 72)
        for kilometres in [0.1, 1, 10, 100] {
            for _ in 0..<500 {
                let center = GeographicPoint(
                    latitude: Double(generator.below(120)) - 60,
                    longitude: Double(generator.below(360)) - 180)
                var count = 0.0
                for range in EarthCell.numbers(around: center, kilometres: kilometres) {
                    count += Double(range.upperBound - range.lowerBound)
                }
                // Of a square about the circle, in parts of the whole.
                let degrees = kilometres / 111
                let square = 2 * degrees / 180 * (4 * degrees / 360)
                #expect(count / 0x1p64 < square * 12, "\(center), \(kilometres) km")
            }
        }
    }

    @Test func `a place that is none has no cell, and one that is too far is looked at always`() {
        #expect(EarthCell.number(latitude: 90.1, longitude: 0) == nil)
        #expect(EarthCell.number(latitude: .nan, longitude: 0) == nil)
        #expect(EarthCell.number(latitude: 0, longitude: .infinity) == nil)
        #expect(EarthCell.number(latitude: 0, longitude: 1e8) == EarthCell.elsewhere)
        let around = EarthCell.numbers(
            around: GeographicPoint(latitude: 0, longitude: 0), kilometres: 1)
        #expect(around.contains { $0.contains(EarthCell.elsewhere) })
        let all = EarthCell.numbers(
            around: GeographicPoint(latitude: 0, longitude: 0), kilometres: 30_000)
        #expect(all == [0...UInt64.max])
        // As the page has them.
        #expect(EarthCell.number(latitude: 0, longitude: 0) == 0xc000_0000_0000_0000)
        #expect(EarthCell.number(latitude: 0, longitude: -180) == 0x8000_0000_0000_0000)
        #expect(EarthCell.number(latitude: -90, longitude: -180) == 0)
    }
}
