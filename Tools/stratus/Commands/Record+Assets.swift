import Stratus

extension Record {
    /// The assets of all fields, also those in lists.
    var assets: [Asset] { allKeys.flatMap { self[$0]?.assets ?? [] } }
}

extension RecordValue {
    /// The asset that it is, or those in the list that it is.
    var assets: [Asset] {
        switch self {
        case .asset(let asset): [asset]
        case .list(let values): values.flatMap(\.assets)
        default: []
        }
    }

    /// The same with other assets.
    func withAssets(_ other: (Asset) throws -> Asset) rethrows -> RecordValue {
        switch self {
        case .asset(let asset): .asset(try other(asset))
        case .list(let values): .list(try values.map { try $0.withAssets(other) })
        default: self
        }
    }
}
