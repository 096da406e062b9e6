extension UInt64 {
    /// Where a hash belongs in a table of so many places: its upper half, scaled to them.
    @inlinable package func place(among count: Int) -> Int {
        // A shift binds tighter than a product.
        Int(((self >> 32) * UInt64(count)) >> 32)
    }
}
