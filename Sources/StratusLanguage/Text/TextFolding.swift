/// Which differences between texts do not count.
///
/// Folding maps each scalar on its own. There is no normalisation: where diacritics count, a letter
/// with its mark in one scalar differs from the same in two.
package struct TextFolding: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Full case folding of Unicode, the same in every language: `ß` is `ss`, and the Turkish
    /// dotless `ı` stays itself.
    package static let `case` = TextFolding(rawValue: 1)
    /// Marks over, under and through letters do not count; vowel signs, viramas and the voicing of
    /// kana, which make another letter, do.
    package static let diacritics = TextFolding(rawValue: 2)

    /// The version of Unicode whose tables fold and divide texts. Another version folds other
    /// texts alike, so what was folded before must be folded anew.
    package static var unicodeVersion: String { UnicodeTables.version }
}

/// The scalars of a text, folded.
package struct FoldedScalars: Sequence, IteratorProtocol {
    private var source: String.UnicodeScalarView.Iterator
    private let folding: TextFolding
    private let tables: FoldingTables
    /// What is left of the last replacement, as places in the table of case folding.
    private var pending = 0..<0

    package init(_ text: String, _ folding: TextFolding) {
        source = text.unicodeScalars.makeIterator()
        self.folding = folding
        tables = .shared
    }

    package mutating func next() -> Unicode.Scalar? {
        if let place = pending.first { return take(place) }
        while var scalar = source.next() {
            if scalar.isASCII { return folding.contains(.case) ? scalar.asciiLowercase : scalar }
            if folding.contains(.diacritics), let bare = tables.diacritics.replacement(of: scalar) {
                guard let place = bare.first else { continue }
                scalar = tables.diacritics.scalars[place]
            }
            if folding.contains(.case), let folded = tables.caseFolding.replacement(of: scalar) {
                pending = folded
                return take(folded.lowerBound)
            }
            return scalar
        }
        return nil
    }

    private mutating func take(_ place: Int) -> Unicode.Scalar {
        pending = place + 1..<pending.upperBound
        return tables.caseFolding.scalars[place]
    }
}

extension Unicode.Scalar {
    /// A letter of ASCII in lower case; any other scalar as it is.
    @inline(__always) var asciiLowercase: Unicode.Scalar {
        let isUpper = value &- 0x41 < 26
        return isUpper ? Unicode.Scalar(UInt8(truncatingIfNeeded: value) | 0x20) : self
    }
}

/// One object, so that an iterator over a text keeps one reference.
private final class FoldingTables: Sendable {
    static let shared = FoldingTables()

    let caseFolding = ScalarMapping(packed: UnicodeTables.caseFolding)
    let diacritics = ScalarMapping(packed: UnicodeTables.diacritics)
}

extension String {
    /// The text with its scalars folded.
    package func folded(_ folding: TextFolding) -> String {
        var folded = String.UnicodeScalarView()
        folded.append(contentsOf: FoldedScalars(self, folding))
        return String(folded)
    }
}
