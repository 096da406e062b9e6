package import StratusLanguage

/// Places on the earth as numbers that lie near each other where the places do: `Formats/Index.md`,
/// "Declared indexes".
package enum EarthCell {
    /// Of places that have no cell of their own.
    package static let elsewhere = UInt64.max
    /// So many stretches of cells are looked at for a circle, about.
    private static let rangeLimit = 24

    /// The cell of a place; nil where it is not on the earth, so that nothing has a distance from it.
    package static func number(latitude: Double, longitude: Double) -> UInt64? {
        guard abs(latitude) <= 90, longitude.isFinite else { return nil }
        let point = GeographicPoint(latitude: latitude, longitude: longitude)
        guard point.hasFineLongitude else { return elsewhere }
        return interleaved(row(latitude), column(point.turnedLongitude))
    }

    /// The cells of all places within so many kilometres of `center`, which lies on the earth.
    package static func numbers(
        around center: GeographicPoint, kilometres: Double
    ) -> [ClosedRange<UInt64>] {
        let bounds = CircleBounds(around: center, kilometres: kilometres)
        let south = row(max(-90, center.latitude - bounds.height))
        let north = row(min(90, center.latitude + bounds.height))
        var columns: [ClosedRange<UInt32>] = [0...UInt32.max]
        if let width = bounds.width, center.hasFineLongitude {
            let longitude = center.turnedLongitude
            let (west, east) = (column(longitude - width), column(longitude + width))
            // Beyond the meridian of 180 degrees it goes on at the other end.
            columns = west <= east ? [west...east] : [0...east, west...UInt32.max]
        }
        return joined(
            stretches(of: columns.map { Box(rows: south...north, columns: $0) })
                + [elsewhere...elsewhere])
    }

    private static func row(_ latitude: Double) -> UInt32 { place((latitude + 90) / 180) }

    /// Counted on beyond the meridian of 180 degrees.
    private static func column(_ longitude: Double) -> UInt32 {
        let part = (longitude + 180) / 360
        return place(part - part.rounded(.down))
    }

    /// Of a part of the whole, 0 to 1.
    private static func place(_ part: Double) -> UInt32 {
        UInt32(clamping: Int64(part * 4_294_967_296))
    }

    /// The bits of both in turns, those of the row first.
    private static func interleaved(_ row: UInt32, _ column: UInt32) -> UInt64 {
        spread(row) << 1 | spread(column)
    }

    /// With a zero before each bit.
    private static func spread(_ value: UInt32) -> UInt64 {
        var bits = UInt64(value)
        bits = (bits | bits << 16) & 0x0000_ffff_0000_ffff
        bits = (bits | bits << 8) & 0x00ff_00ff_00ff_00ff
        bits = (bits | bits << 4) & 0x0f0f_0f0f_0f0f_0f0f
        bits = (bits | bits << 2) & 0x3333_3333_3333_3333
        return (bits | bits << 1) & 0x5555_5555_5555_5555
    }
}

// Covering.
extension EarthCell {
    private struct Box {
        var rows: ClosedRange<UInt32>
        var columns: ClosedRange<UInt32>
    }

    /// A square of 2 to the power of `level` rows and columns, whose cells follow each other.
    private struct Square {
        var level: Int
        var row: UInt32
        var column: UInt32

        private var last: UInt32 { level == 32 ? .max : 1 << UInt32(level) - 1 }
        var rows: ClosedRange<UInt32> { row...row | last }
        var columns: ClosedRange<UInt32> { column...column | last }
        var numbers: ClosedRange<UInt64> {
            EarthCell.interleaved(row, column)...EarthCell.interleaved(row | last, column | last)
        }

        var quarters: [Square] {
            let half = UInt32(1) << UInt32(level - 1)
            return [(0, 0), (0, half), (half, 0), (half, half)].map { row, column in
                Square(level: level - 1, row: self.row | row, column: self.column | column)
            }
        }
    }

    /// Stretches of cells that hold all of some boxes, and few others.
    private static func stretches(of boxes: [Box]) -> [ClosedRange<UInt64>] {
        var found: [ClosedRange<UInt64>] = []
        // The largest first.
        var squares = [Square(level: 32, row: 0, column: 0)]
        var next = 0
        while next < squares.count {
            let square = squares[next]
            next += 1
            let met = boxes.filter {
                $0.rows.overlaps(square.rows) && $0.columns.overlaps(square.columns)
            }
            if met.isEmpty { continue }
            let isInside = met.contains {
                $0.rows.contains(square.rows) && $0.columns.contains(square.columns)
            }
            if isInside || square.level == 0 || found.count + squares.count - next >= rangeLimit {
                found.append(square.numbers)
            } else {
                squares += square.quarters
            }
        }
        return found
    }

    /// In order, with one in place of those that meet or follow each other.
    private static func joined(_ ranges: [ClosedRange<UInt64>]) -> [ClosedRange<UInt64>] {
        var joined: [ClosedRange<UInt64>] = []
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = joined.last,
                last.upperBound == .max || range.lowerBound <= last.upperBound + 1
            {
                joined[joined.count - 1] =
                    last.lowerBound...max(last.upperBound, range.upperBound)
            } else {
                joined.append(range)
            }
        }
        return joined
    }
}

extension ClosedRange<UInt32> {
    fileprivate func contains(_ other: ClosedRange<UInt32>) -> Bool {
        lowerBound <= other.lowerBound && other.upperBound <= upperBound
    }
}
