internal import StratusBytes

/// A word of a text as searches compare it: without case and diacritics.
package struct SearchWord: Hashable, Sendable {
    package let text: String

    /// Equal are words with the same scalars. `String` holds more texts for equal: those that differ
    /// in normalisation only.
    package static func == (left: SearchWord, right: SearchWord) -> Bool {
        left.text.utf8.elementsEqual(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(Checksum.xxh3(text)) }
}

/// The words of a text that a search can find: folded, in order, without stop words.
///
/// Words are the pieces between the word boundaries of UAX #29 that hold a letter, a number or an
/// emoji. An ideograph or a hiragana is a word of its own.
package struct SearchWords: Sequence, IteratorProtocol {
    private var segments: WordSegments
    /// Reused for every word; words of up to 15 bytes take no memory of their own.
    private var buffer: [UInt8] = []

    package init(_ text: String) { segments = WordSegments(text) }

    package mutating func next() -> SearchWord? {
        while let segment = segments.next() {
            guard segment.isWord else { continue }
            fold(segment.range)
            let word = String(decoding: buffer, as: UTF8.self)
            let isStopWord = buffer.count <= Self.longestStopWord && Self.stopWords.contains(word)
            if !isStopWord { return SearchWord(text: word) }
        }
        return nil
    }

    /// Puts the word in a range into the buffer.
    private mutating func fold(_ range: Range<Int>) {
        buffer.removeAll(keepingCapacity: true)
        for place in range {
            let byte = segments.bytes[place]
            guard byte < 0x80 else { return foldAll(range) }
            buffer.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
        }
    }

    /// The same for a word that is not all of ASCII.
    private mutating func foldAll(_ range: Range<Int>) {
        buffer.removeAll(keepingCapacity: true)
        let text = String(decoding: segments.bytes[range], as: UTF8.self)
        for scalar in FoldedScalars(text, [.case, .diacritics]) {
            buffer.append(contentsOf: UTF8.encode(scalar) ?? .init())
        }
    }

    /// In bytes.
    private static let longestStopWord = 5
    /// The words that CloudKit's token search ignores.
    static let stopWords: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is",
        "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there",
        "these", "they", "this", "to", "was", "will", "with",
    ]
}
