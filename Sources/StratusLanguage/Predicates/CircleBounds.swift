/// How far a circle on the earth reaches from its middle, in degrees: no less than it does.
package struct CircleBounds: Sendable {
    /// To the north and to the south.
    package let height: Double
    /// To the east and to the west; nil where the circle holds a pole, or a large part of a parallel.
    package let width: Double?

    /// More than what rounding moves a place by.
    private static let margin = 1e-6

    /// - Parameter center: a place on the earth.
    package init(around center: GeographicPoint, kilometres: Double) {
        // More than the angle, in radians. No sine is needed: all bounds err to the safe side.
        let angle = kilometres / GreatCircle.radius * (1 + 1e-9) + 1e-12
        height = angle * 180 / .pi + Self.margin
        let square = center.latitude * center.latitude * (.pi / 180) * (.pi / 180)
        // No more than the cosine of the latitude.
        let cosine = 1 - square / 2 + square * square / 24 - square * square * square / 720
        // No less than the sine of half the circle's width in longitude.
        let ratio = cosine > 0 ? angle / cosine : 1
        guard abs(center.latitude) + height < 90, ratio < 0.9 else {
            width = nil
            return
        }
        // An angle is less than its tangent.
        width = ratio / (1 - ratio * ratio).squareRoot() * 180 / .pi + Self.margin
    }
}

extension GeographicPoint {
    /// Whether squares tell its longitude apart from others; no place on the earth is written with one
    /// that they do not.
    package var hasFineLongitude: Bool { abs(longitude) <= 1e7 }

    /// The longitude without whole turns, between -360 and 360 degrees.
    package var turnedLongitude: Double { longitude.truncatingRemainder(dividingBy: 360) }
}
