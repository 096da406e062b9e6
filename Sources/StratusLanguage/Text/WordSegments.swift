/// A piece of text between two word boundaries.
package struct WordSegment: Equatable {
    /// In UTF-8 bytes.
    package var range: Range<Int>
    /// Whether it holds a letter, a number or an emoji; spaces and punctuation are no words.
    package var isWord: Bool
}

/// The pieces of a text between its word boundaries, as Unicode Standard Annex #29 divides it.
///
/// Every byte lies in one piece. Takes time in proportion to the text: the lookahead of a rule passes
/// over the marks of one scalar.
package struct WordSegments: Sequence, IteratorProtocol {
    let bytes: [UInt8]
    private var position = 0
    private let table = WordTable.shared

    package init(_ text: String) { bytes = Array(text.utf8) }

    package mutating func next() -> WordSegment? {
        guard position < bytes.count else { return nil }
        return nextPlain() ?? nextByRules()
    }

    /// The next piece where bytes of ASCII decide: letters and digits, spaces, or a mark that joins nothing.
    /// What stands behind it may join it otherwise: then nil.
    private mutating func nextPlain() -> WordSegment? {
        let start = position
        let first = bytes[start]
        var end = start + 1
        let isWord = Self.isLetterOrDigit(first)
        if isWord {
            while end < bytes.count, Self.isLetterOrDigit(bytes[end]) { end += 1 }
            guard end == bytes.count || Self.joinsNothing(bytes[end]) else { return nil }
        } else {
            guard Self.joinsNothing(first), first != 0x0d else { return nil }
            if first == 0x20 {
                while end < bytes.count, bytes[end] == 0x20 { end += 1 }
            }
            // A mark of other scripts may belong to it.
            guard end == bytes.count || bytes[end] < 0x80 else { return nil }
        }
        position = end
        return WordSegment(range: start..<end, isWord: isWord)
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10
    }

    /// Of bytes that are no letter and no digit: whether a word ends there, whatever follows.
    private static func joinsNothing(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: ","), UInt8(ascii: "."),
            UInt8(ascii: ":"), UInt8(ascii: ";"), UInt8(ascii: "_"):
            false
        default: byte < 0x80
        }
    }

    private mutating func nextByRules() -> WordSegment? {
        let start = position
        var (last, end) = table.properties(bytes, at: position)
        // The last scalar without the marks behind it, which the later rules pass over (WB4).
        var base = last.wordBreak
        var isWord = last.isWord
        // Two regional indicators are a flag; a third begins the next (WB15, WB16).
        var isHalfFlag = base == .regionalIndicator
        while end < bytes.count {
            var (right, after) = table.properties(bytes, at: end)
            switch Self.link(last, base, right, isHalfFlag: isHalfFlag) {
            case .apart:
                position = end
                return WordSegment(range: start..<end, isWord: isWord)
            case .joined: break
            case .joinedBefore(let isNeeded, let otherwise):
                if let found = next(after: after, isNeeded) {
                    (right, after) = table.properties(bytes, at: found)
                } else if !otherwise {
                    position = end
                    return WordSegment(range: start..<end, isWord: isWord)
                }
            }
            isHalfFlag = isHalfFlag && right.wordBreak != .regionalIndicator
            if !right.wordBreak.isIgnored { base = right.wordBreak }
            isWord = isWord || right.isWord
            last = right
            end = after
        }
        position = end
        return WordSegment(range: start..<end, isWord: isWord)
    }

    private enum Link {
        case apart
        case joined
        /// Joined with the scalar after it, where that is as needed; if not, joined or apart.
        case joinedBefore((WordBreak) -> Bool, otherwise: Bool = false)
    }

    /// The rules WB3 to WB16, for a scalar and the one before it.
    private static func link(
        _ last: WordProperties, _ base: WordBreak, _ next: WordProperties, isHalfFlag: Bool
    ) -> Link {
        let before = last.wordBreak
        let right = next.wordBreak
        if base.isLetterOrNumber && right.isLetterOrNumber { return .joined }
        if before == .carriageReturn && right == .lineFeed { return .joined }
        if before.isNewline || right.isNewline { return .apart }
        if before == .zeroWidthJoiner && next.isPictographic { return .joined }
        if before == .spaceSegment && right == .spaceSegment { return .joined }
        if right.isIgnored { return .joined }
        switch (base, right) {
        case (.katakana, .katakana), (.katakana, .extendNumberLetter),
            (.extendNumberLetter, .katakana), (.extendNumberLetter, .extendNumberLetter):
            return .joined
        case (.extendNumberLetter, _) where right.isLetterOrNumber: return .joined
        case (_, .extendNumberLetter) where base.isLetterOrNumber: return .joined
        case (.regionalIndicator, .regionalIndicator): return isHalfFlag ? .joined : .apart
        case (.hebrewLetter, .doubleQuote): return .joinedBefore { $0 == .hebrewLetter }
        case _ where base.isLetter && (right == .midLetter || right.joinsBoth):
            let isHebrewQuote = base == .hebrewLetter && right == .singleQuote
            return .joinedBefore(\.isLetter, otherwise: isHebrewQuote)
        case _ where base == .numeric && (right == .midNumber || right.joinsBoth):
            return .joinedBefore { $0 == .numeric }
        default: return .apart
        }
    }

    /// The next scalar that counts, if it is as needed.
    private func next(after place: Int, _ isNeeded: (WordBreak) -> Bool) -> Int? {
        var place = place
        while place < bytes.count {
            let (found, after) = table.properties(bytes, at: place)
            if !found.wordBreak.isIgnored { return isNeeded(found.wordBreak) ? place : nil }
            place = after
        }
        return nil
    }
}
