// The one use of the system's mathematics: sine, cosine and arc tangent.
internal import Glibc

/// Distances over the earth's surface from a point; altitude does not count.
///
/// The points are directions in space, where neither the poles nor the meridian at 180 degrees is
/// special.
package struct GreatCircle: Sendable {
    /// The mean radius of the earth (IUGG), in kilometres.
    package static let radius = 6371.0088

    private let center: SIMD3<Double>

    /// Nil of a point that is not on the earth: a latitude beyond a pole, or what is no number.
    package init?(from point: GeographicPoint) {
        guard let center = Self.direction(point) else { return nil }
        self.center = center
    }

    /// In kilometres; nil of a point that is not on the earth.
    package func kilometres(to point: GeographicPoint) -> Double? {
        Self.direction(point).map { other in
            // Unlike the cosine alone, the two are exact near and far.
            let cross = SIMD3(
                center.y * other.z - center.z * other.y, center.z * other.x - center.x * other.z,
                center.x * other.y - center.y * other.x)
            return Self.radius * atan2((cross * cross).sum().squareRoot(), (center * other).sum())
        }
    }

    private static func direction(_ point: GeographicPoint) -> SIMD3<Double>? {
        guard abs(point.latitude) <= 90, point.longitude.isFinite else { return nil }
        let latitude = point.latitude * .pi / 180
        let longitude = point.longitude * .pi / 180
        return SIMD3(
            cos(latitude) * cos(longitude), cos(latitude) * sin(longitude), sin(latitude))
    }
}
