import StratusLanguage
import Testing

@Suite struct GreatCircleTests {
    private func distance(
        _ from: (Double, Double), _ to: (Double, Double)
    ) throws -> Double {
        let circle = try #require(
            GreatCircle(from: GeographicPoint(latitude: from.0, longitude: from.1)))
        return try #require(
            circle.kilometres(to: GeographicPoint(latitude: to.0, longitude: to.1)))
    }

    private let degree = GreatCircle.radius * .pi / 180

    @Test(
        arguments: [
            ((0, 0), (0, 1), 1), ((0, 0), (1, 0), 1), ((0, 179.5), (0, -179.5), 1),
            ((90, 0), (90, 123), 0), ((-90, 5), (-90, -170), 0), ((89.5, 0), (89.5, 180), 1),
            ((-89.5, -90), (-89.5, 90), 1), ((90, 17), (89, -60), 1), ((0, 180), (0, -180), 0),
            ((0, 0), (0, 180), 180), ((90, 0), (-90, 0), 180), ((45, 10), (-45, -170), 180),
            ((0, 359), (0, 0), 1), ((30, 40), (30, 40), 0), ((60, 170), (60, -170), 9.961_8),
        ] as [((Double, Double), (Double, Double), Double)])
    func `poles and the meridian at 180 degrees are places like others`(
        from: (Double, Double), to: (Double, Double), degrees: Double
    ) throws {
        #expect(abs(try distance(from, to) - degrees * degree) < 0.05)
        #expect(abs(try distance(to, from) - degrees * degree) < 0.05)
    }

    @Test func `small distances are exact to a millimetre`() throws {
        for latitude in [0.0, 51.5, -89] {
            let near = try distance((latitude, 0), (latitude + 0.000_01, 0))
            #expect(abs(near - 0.000_01 * degree) < 0.000_001)
        }
    }

    @Test func `cities are as far from each other as they are known to be`() throws {
        // Berlin, Paris; San Francisco, Tokyo; Auckland, Santiago: in whole kilometres.
        #expect(abs(try distance((52.52, 13.405), (48.8566, 2.3522)) - 877) < 2)
        #expect(abs(try distance((37.7749, -122.4194), (35.6762, 139.6503)) - 8_270) < 10)
        #expect(abs(try distance((-36.8485, 174.7633), (-33.4489, -70.6693)) - 9_665) < 15)
    }

    @Test(arguments: [(90.001, 0), (-91, 0), (.nan, 0), (0, .nan), (0, .infinity)])
    func `a point that is not on the earth has no distance`(latitude: Double, longitude: Double) {
        let point = GeographicPoint(latitude: latitude, longitude: longitude)
        #expect(GreatCircle(from: point) == nil)
        let pole = GreatCircle(from: GeographicPoint(latitude: 90, longitude: 0))
        #expect(pole != nil && pole?.kilometres(to: point) == nil)
    }

    @Test(
        arguments: [
            ("< 112", true), ("< 111", false), ("<= 112", true), ("> 111", true), (">= 112", false),
            ("!= 112", true), ("= 112", false),
        ])
    func `predicates compare distances in kilometres`(test: String, expected: Bool) throws {
        let point = PredicateValue.location(GeographicPoint(latitude: 0, longitude: -179.5))
        let text = "distanceToLocation:fromLocation:(f, CAST({0, 179.5}, 'CLLocation')) \(test)"
        #expect(try holds(text, ["f": point]) == expected)
        #expect(try holds("NOT \(text)", ["f": point]) == !expected)
    }
}
