/// A piece of predicate text.
struct PredicateToken {
    enum Kind: Equatable {
        case end
        case keyword(Keyword)
        case name(String)
        /// A name behind `#`, which is never a keyword.
        case escapedName(String)
        case string(String)
        case integer(Int64)
        case real(Double)
        case symbol(Symbol)
        case relation(Relation)
        case options(TextOptions)
        case placeholder(Placeholder)
        case variable(String)
    }

    /// Words with a meaning, in any case. A field of such a name is written `#name`.
    enum Keyword: String, CaseIterable {
        case and = "AND"
        case or = "OR"
        case not = "NOT"
        case isIn = "IN"
        case between = "BETWEEN"
        case beginsWith = "BEGINSWITH"
        case endsWith = "ENDSWITH"
        case contains = "CONTAINS"
        case like = "LIKE"
        case matches = "MATCHES"
        case tokenMatches = "TOKENMATCHES"
        case any = "ANY"
        case some = "SOME"
        case all = "ALL"
        case none = "NONE"
        case truePredicate = "TRUEPREDICATE"
        case falsePredicate = "FALSEPREDICATE"
        case null = "NULL"
        case `nil` = "NIL"
        case `true` = "TRUE"
        case yes = "YES"
        case `false` = "FALSE"
        case no = "NO"
        case itself = "SELF"
        case cast = "CAST"
        case now = "NOW"
        case tokenize = "TOKENIZE:USING:"
        case distance = "DISTANCETOLOCATION:FROMLOCATION:"

        private static let byName = Dictionary(
            uniqueKeysWithValues: allCases.map { ($0.rawValue, $0) })

        /// The keyword that a name is.
        init?(name: String) {
            // Longer names are none, and their upper case is not needed.
            guard name.utf8.count <= 32, let found = Self.byName[name.uppercased()] else {
                return nil
            }
            self = found
        }
    }

    enum Symbol: String {
        case open = "("
        case close = ")"
        case openList = "{"
        case closeList = "}"
        case comma = ","
    }

    /// What stands for the next argument.
    enum Placeholder: String {
        case value = "%@"
        case key = "%K"
        case integer = "%d"
        case real = "%f"
        case string = "%s"
    }

    var kind: Kind
    /// In UTF-8 bytes.
    var range: Range<Int>
}
