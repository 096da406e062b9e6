public import FoundationEssentials
internal import StratusEngine

/// A place on the earth, with the parts of Core Location's `CLLocation`.
public struct Location: Hashable, Sendable, Codable {
    /// In degrees.
    public var latitude: Double
    /// In degrees.
    public var longitude: Double
    /// In metres.
    public var altitude: Double
    /// In metres; negative where unknown.
    public var horizontalAccuracy: Double
    /// In metres; negative where unknown.
    public var verticalAccuracy: Double
    /// In degrees from north; negative where unknown.
    public var course: Double
    /// In metres per second; negative where unknown.
    public var speed: Double
    /// When the place was measured.
    public var timestamp: Date

    /// A place of which no more is known than latitude and longitude, unless given.
    public init(
        latitude: Double, longitude: Double, altitude: Double = 0,
        horizontalAccuracy: Double = 0, verticalAccuracy: Double = -1, course: Double = -1,
        speed: Double = -1, timestamp: Date = Date(timeIntervalSince1970: 0)
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.altitude = altitude
        self.horizontalAccuracy = horizontalAccuracy
        self.verticalAccuracy = verticalAccuracy
        self.course = course
        self.speed = speed
        self.timestamp = timestamp
    }
}
