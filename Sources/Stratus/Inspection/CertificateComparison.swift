internal import StratusJournal
internal import StratusEngine

/// What a store still shows of what a ``Certificate`` states, and in what it differs.
public struct CertificateComparison: Hashable, Sendable {
    /// What is known of a part of a certificate.
    public enum Proof: String, Hashable, Sendable {
        /// It is as certified.
        case proved
        /// It is not, and ``CertificateComparison/differences`` says in what.
        case differs
        /// It cannot be told any more: the journal was compacted there.
        case compacted
        /// It cannot be told any more: there were commits since, and neither a mark nor the history
        /// policy keeps the state.
        case notKept
        /// It was not compared, since the store does not have the certified history.
        case notCompared
    }

    /// Something that is not as certified.
    public enum Difference: Hashable, Sendable {
        /// It is another store, of this ID.
        case store(String)
        /// It is a copy of the store that went another way: behind this offset or, where it is nil,
        /// one that does not come from the certified one.
        case lineage(end: UInt64?)
        /// What was committed between this offset and the certified one is lost.
        case lost(from: UInt64)
        /// The journal has this chain at the certified offset.
        case chain(UInt64)
        /// A zone holds something else at the certified offset; nil: there is no such zone.
        case zone(certified: Certificate.Zone?, found: Certificate.Zone?)
    }

    /// Whether the store has the history that was certified, as far as its files say whose it is
    /// and where it ends.
    public private(set) var history = Proof.proved
    /// Whether the commits up to the certified offset are the certified ones, in their order.
    public private(set) var chain = Proof.notCompared
    /// Whether the zones held there what is certified.
    public private(set) var zones = Proof.notCompared
    /// All that was found; empty where nothing is other than certified.
    public private(set) var differences: [Difference] = []
}

extension Container {
    /// Compares the store with a certificate of it, or of the one that it is a copy of: whether
    /// all up to the certified offset is unchanged, as far as that can still be told.
    ///
    /// What the zones held is compared while that state can be read: as the last one, or since a
    /// ``Mark`` or the ``History/Policy`` keeps it. Commits and readers go on meanwhile.
    ///
    /// - Parameter progress: is called often, on a thread of the container.
    /// - Throws: ``StoreError`` with the cause `damaged` where something cannot be read.
    public nonisolated(nonsending) func compare(
        with certificate: Certificate, progress: @escaping RecordProgress = { _, _ in }
    ) async throws(StoreError) -> CertificateComparison {
        try await answer { () async throws(EngineError) -> CertificateComparison in
            let source = try await steadySource()
            let comparison = try await source.threads.run {
                try CertificateComparison(ofHistory: source.state, with: certificate)
            }
            guard comparison.history == .proved else { return comparison }
            let last = JournalOffset(rawValue: certificate.offset).previous
            let snapshot: Snapshot
            do throws(StoreError) {
                snapshot = try await source.snapshot(at: .offset(last.rawValue))
            } catch {
                guard error.cause == .changeToken(.compacted) else { throw .refused(error) }
                return comparison.with(nil, certificate.zones)
            }
            let zones = try await source.threads.run { try source.zones(at: snapshot, progress) }
            return comparison.with(zones, certificate.zones)
        }
    }
}

extension CertificateComparison {
    /// Compares whose journal it is, how far it reaches, and the chain at the certified offset.
    fileprivate init(
        ofHistory state: StoreState, with certificate: Certificate
    ) throws(JournalError) {
        let identity = state.identity
        let end = JournalOffset(rawValue: certificate.offset)
        guard identity.storeID.description == certificate.storeID else {
            self.init(.store(identity.storeID.description))
            return
        }
        guard identity.includes(before: end, of: certificate.lineage) else {
            let ancestor = identity.ancestors.last { $0.lineage == certificate.lineage }
            self.init(.lineage(end: ancestor?.end.rawValue))
            return
        }
        guard end <= state.head else {
            self.init(.lost(from: state.head.rawValue))
            return
        }
        do throws(JournalError) {
            self.init(chain: end == .zero ? 0 : try state.view.chain(before: end), certificate)
        } catch {
            guard case .historyChanged = error else { throw error }
            // A crash took what lay there, and a recovery ended the journal before it.
            let before = state.view.segments.last { $0.end <= end }
            self.init(.lost(from: before?.end.rawValue ?? 0))
        }
    }

    /// Of a store that does not have the certified history.
    private init(_ difference: Difference) {
        history = .differs
        differences = [difference]
    }

    /// Of one that has it, with the chain at the certified offset; nil: it is not known.
    private init(chain found: UInt64?, _ certificate: Certificate) {
        guard let found else {
            chain = .compacted
            return
        }
        chain = found == certificate.chain ? .proved : .differs
        if chain == .differs { differences = [.chain(found)] }
    }

    /// The same with what is found of the zones; nil: the state is not kept.
    fileprivate func with(
        _ found: [Certificate.Zone]?, _ certified: [Certificate.Zone]
    ) -> CertificateComparison {
        var comparison = self
        guard let found else {
            comparison.zones = .notKept
            return comparison
        }
        var left = Dictionary(found.map { ($0.key, $0) }) { first, _ in first }
        for zone in certified {
            let found = left.removeValue(forKey: zone.key)
            if let found, found.isLike(zone) { continue }
            comparison.differences.append(.zone(certified: zone, found: found))
        }
        for zone in found where left[zone.key] != nil {
            comparison.differences.append(.zone(certified: nil, found: zone))
        }
        comparison.zones = comparison.differences.count > differences.count ? .differs : .proved
        return comparison
    }
}

extension Certificate.Zone {
    /// Owner and name, told from others by their bytes.
    package var key: [[UInt8]] { [Array((owner ?? "").utf8), Array(zoneName.utf8)] }

    fileprivate func isLike(_ other: Certificate.Zone) -> Bool {
        contentHash == other.contentHash && recordCount == other.recordCount
    }
}
