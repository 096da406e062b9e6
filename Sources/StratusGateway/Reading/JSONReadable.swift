/// Why a request was not understood, and where.
struct Mismatch: Error, Equatable {
    /// Such as `operations[2].record.fields`, as far as it is known yet.
    var path = ""
    var reason: String
    /// Whether there is a key that has no meaning there: then the whole request is refused, wherever
    /// it was found.
    var isUnknownKey = false

    init(_ reason: String) { self.reason = reason }

    func under(_ key: String) -> Mismatch { at(key) }

    func at(_ index: Int) -> Mismatch { at("[\(index)]") }

    private func at(_ step: String) -> Mismatch {
        var mismatch = self
        mismatch.path = path.isEmpty || path.hasPrefix("[") ? step + path : "\(step).\(path)"
        return mismatch
    }
}

/// What is read from a value of JSON and refuses every other.
protocol JSONReadable: Sendable {
    init(_ json: JSONValue) throws(Mismatch)
}

/// What is read from an object that may have certain keys and no other.
protocol JSONBody: JSONReadable {
    /// The keys, by their names in JSON.
    associatedtype Key: RawRepresentable<String>

    init(_ keys: JSONKeys<Key>) throws(Mismatch)
}

extension JSONBody {
    init(_ json: JSONValue) throws(Mismatch) {
        try self.init(JSONKeys(json))
    }
}

/// The members of an object, none of which is unknown.
struct JSONKeys<Key: RawRepresentable<String>> {
    private let object: JSONObject

    init(_ json: JSONValue) throws(Mismatch) {
        guard case .object(let object) = json else { throw Mismatch("must be an object") }
        try self.init(object)
    }

    init(_ object: JSONObject) throws(Mismatch) {
        for member in object.members {
            guard let key = Key(rawValue: member.name), key.rawValue.isSame(as: member.name) else {
                var mismatch = Mismatch("is no key here").under(member.name)
                mismatch.isUnknownKey = true
                throw mismatch
            }
        }
        self.object = object
    }

    /// The value of a key, null where null was given; nil where the key was not.
    func given(_ key: Key) -> JSONValue? { object[key.rawValue] }

    /// Fails with `reason` at `key`.
    func refuse(_ key: Key, _ reason: String) throws(Mismatch) -> Never {
        throw Mismatch(reason).under(key.rawValue)
    }

    /// The value of a key; nil where the key was not given, or null was.
    func optional<Value: JSONReadable>(
        _ key: Key, as type: Value.Type = Value.self
    ) throws(Mismatch) -> Value? {
        guard let value = given(key), value != .null else { return nil }
        do throws(Mismatch) {
            return try Value(value)
        } catch {
            throw error.under(key.rawValue)
        }
    }

    /// The value of a key that must be given.
    func required<Value: JSONReadable>(
        _ key: Key, as type: Value.Type = Value.self
    ) throws(Mismatch) -> Value {
        guard let value: Value = try optional(key) else { try refuse(key, "is missing") }
        return value
    }
}

/// The body of a call that takes nothing.
enum NoKey: RawRepresentable {
    init?(rawValue: String) { return nil }
    var rawValue: String { switch self {} }
}

extension JSONValue: JSONReadable {
    init(_ json: JSONValue) { self = json }
}

extension JSONObject: JSONReadable {
    init(_ json: JSONValue) throws(Mismatch) {
        guard case .object(let object) = json else { throw Mismatch("must be an object") }
        self = object
    }
}

extension Bool: JSONReadable {
    init(_ json: JSONValue) throws(Mismatch) {
        guard case .boolean(let value) = json else { throw Mismatch("must be true or false") }
        self = value
    }
}

extension Int: JSONReadable {
    init(_ json: JSONValue) throws(Mismatch) {
        guard case .integer(let value) = json else { throw Mismatch("must be an integer") }
        self = value
    }
}

extension String: JSONReadable {
    init(_ json: JSONValue) throws(Mismatch) {
        guard case .string(let value) = json else { throw Mismatch("must be text") }
        self = value
    }
}

extension Array: JSONReadable where Element: JSONReadable {
    init(_ json: JSONValue) throws(Mismatch) {
        guard case .array(let values) = json else { throw Mismatch("must be a list") }
        self = []
        reserveCapacity(values.count)
        for (index, value) in values.enumerated() {
            do throws(Mismatch) {
                append(try Element(value))
            } catch {
                throw error.at(index)
            }
        }
    }
}

/// One of a few words.
protocol JSONWord: JSONReadable, CaseIterable, RawRepresentable<String> {}

extension JSONWord {
    init(_ json: JSONValue) throws(Mismatch) {
        let text = try String(json)
        guard let word = Self(rawValue: text), word.rawValue.isSame(as: text) else {
            let words = Self.allCases.map(\.rawValue).joined(separator: ", ")
            throw Mismatch("must be one of \(words)")
        }
        self = word
    }
}
