public import Synchronization

/// A reference that is set once and then stays. `AtomicLazyReference` is the same, but asks the
/// runtime at each load what its type is, which takes longer than the load. For the same reason its
/// code must be seen by other modules.
@usableFromInline
package struct LazyReference<Instance: AnyObject & Sendable>: ~Copyable, Sendable {
    /// The address of an instance that this holds; 0 while there is none.
    @usableFromInline let address = Atomic<UInt>(0)

    package init() {}

    deinit {
        // Safe: what is stored was retained, and no one else can be loading it any more.
        unsafe Self.unmanaged(address.load(ordering: .acquiring))?.release()
    }

    /// The instance; nil while there is none.
    @inlinable package func load() -> Instance? {
        // Safe: what is stored was retained, and stays for as long as this is there.
        unsafe Self.unmanaged(address.load(ordering: .acquiring))?.takeUnretainedValue()
    }

    /// Stores an instance where there is none yet. Returns the one that is there then.
    package func storeIfNil(_ instance: Instance) -> Instance {
        // Safe: what is stored is retained for as long as this is there.
        let new = unsafe Unmanaged.passRetained(instance)
        let (isStored, former) = unsafe address.compareExchange(
            expected: 0, desired: UInt(bitPattern: new.toOpaque()),
            ordering: .acquiringAndReleasing)
        if isStored { return instance }
        // Safe: it was retained for this, and the one that is there stays.
        unsafe new.release()
        return unsafe Self.unmanaged(former)?.takeUnretainedValue() ?? instance
    }

    /// Safe: what is stored is the address of an instance that is retained.
    @inlinable static func unmanaged(_ address: UInt) -> Unmanaged<Instance>? {
        unsafe UnsafeRawPointer(bitPattern: address).map { unsafe Unmanaged.fromOpaque($0) }
    }
}
