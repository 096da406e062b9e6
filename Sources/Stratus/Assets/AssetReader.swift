internal import StratusAssets
internal import StratusBytes
internal import StratusFiles
internal import StratusEngine

/// Reads a stored asset, or a part of it, chunk by chunk: while one is used, threads read, check
/// and decompress those behind it. A value: used by one at a time.
struct AssetReader: Sendable {
    /// What a thread does with slices that follow each other, and the place of the first.
    typealias Use = @Sendable ([ArraySlice<UInt8>], Int) throws(EngineError) -> Void

    /// Chunks that were read by one thread, up to where one cannot be.
    fileprivate struct Group: Sendable {
        var slices: [ArraySlice<UInt8>] = []
        var failure: EngineError?
    }

    private let asset: StoredAsset
    private let use: Use?
    private var cursor: ExtentCursor
    /// Keeps the record's chunks from being collected while they are read.
    private let point: ReadPin?
    /// How many bytes were read.
    private(set) var position = 0
    /// What follows, as far as it was begun: so many bytes.
    private var work: OrderedWork<Group>
    private var begunLength = 0
    private var isAllBegun = false
    /// What was read and not asked for, the next at the end.
    private var ready: [ArraySlice<UInt8>] = []
    /// Why there is no more behind that.
    private var failure: EngineError?

    /// So many bytes are work enough for a thread to be woken.
    private static let groupLength = 192 << 10
    /// Never reached by chunks of at least ``Chunker/least`` bytes, which have that length sooner.
    private static let groupLimit = 16

    /// Reads the bytes `range`, which must be inside the asset. `use` gets the slices before
    /// they are returned, on several threads, in any order; what it throws ends all.
    init(_ asset: StoredAsset, _ range: Range<Int>? = nil, _ use: Use? = nil) {
        self.asset = asset
        self.use = use
        cursor = ExtentCursor(asset.content, range)
        point = asset.store?.pinForReading()
        work = OrderedWork(on: asset.store?.workers)
    }

    /// The next bytes; nil at the end. Where it would have to wait and must not, the error says so,
    /// and the next call goes on.
    mutating func next(
        _ mode: ReadMode = .blocking
    ) throws(EngineError) -> ArraySlice<UInt8>? {
        if ready.isEmpty { try asset.checkReader(mode) }
        while ready.isEmpty {
            if let failure { throw failure }
            try readAhead(mode)
            if work.isEmpty { return nil }
            guard let group = work.takeFirst(mode) else { throw .wouldBlock }
            ready = group.slices.reversed()
            failure = group.failure
        }
        let slice = ready.removeLast()
        position += slice.count
        return slice
    }

    /// Reads all there is, for `use`. `goOn` is told how many bytes that were, again and again, and
    /// may end it. When this returns nothing is being used any more.
    mutating func useAll(
        _ goOn: (Int) throws(EngineError) -> Void = { _ in }
    ) throws(EngineError) {
        defer { work.giveUp() }
        while try next() != nil { try goOn(position) }
    }

    /// In groups.
    private var window: Int { (asset.store?.width ?? 1) * 4 }

    private mutating func readAhead(_ mode: ReadMode) throws(EngineError) {
        while !isAllBegun, work.count < window {
            let start = begunLength
            var (cursor, end) = (cursor, begunLength)
            var steps: [ExtentCursor.Step] = []
            var failure: EngineError?
            do throws(EngineError) {
                while end - start < Self.groupLength, steps.count < Self.groupLimit {
                    guard let step = try asset.nextStep(&cursor, mode) else {
                        isAllBegun = true
                        break
                    }
                    steps.append(step)
                    end += step.range.count
                }
            } catch {
                if error.wouldBlock { throw error }
                isAllBegun = true
                failure = error
            }
            (self.cursor, begunLength) = (cursor, end)
            work.add { [asset, use, steps, failure] mode in
                asset.group(of: steps, from: start, use, then: failure, mode)
            }
        }
    }
}

extension StoredAsset {
    fileprivate func group(
        of steps: [ExtentCursor.Step], from start: Int, _ use: AssetReader.Use?,
        then failure: EngineError?, _ mode: ReadMode
    ) -> AssetReader.Group? {
        var group = AssetReader.Group()
        group.failure = failure
        do throws(EngineError) {
            for step in steps { group.slices.append(try bytes(of: step, mode)) }
            try use?(group.slices, start)
        } catch {
            if error.wouldBlock { return nil }
            group.failure = error
        }
        return group
    }

    /// The next chunk of the asset's own, behind the lists on the way to it.
    fileprivate func nextStep(
        _ cursor: inout ExtentCursor, _ mode: ReadMode
    ) throws(EngineError) -> ExtentCursor.Step? {
        while let step = cursor.next() {
            if !step.isList { return step }
            let list = try bytes(of: step, mode)
            guard cursor.enter(step, list.span) else { throw try misfit(step, mode) }
        }
        return nil
    }

    /// The bytes of the asset in a chunk; all of them where it is a list.
    fileprivate func bytes(
        of step: ExtentCursor.Step, _ mode: ReadMode
    ) throws(EngineError) -> ArraySlice<UInt8> {
        guard let store else { throw named(.refused(.assetGone)) }
        let bytes: ArraySlice<UInt8>?
        do throws(EngineError) {
            bytes = try store.read(step.address, mode)
        } catch {
            throw named(error)
        }
        guard let bytes else { throw named(.refused(.assetGone)) }
        guard step.fits(bytes.count) else { throw try misfit(step, mode) }
        if step.isList { return bytes }
        return bytes.dropFirst(step.range.lowerBound).prefix(step.range.count)
    }

    /// That the chunk of a step is not what the asset says of it.
    fileprivate func misfit(
        _ step: ExtentCursor.Step, _ mode: ReadMode
    ) throws(EngineError) -> EngineError {
        named(try store?.misfit(step.address, mode) ?? .refused(.assetGone))
    }

    /// The error, with the record and the field that it is about.
    fileprivate func named(_ error: EngineError) -> EngineError {
        guard let record, let field, !error.wouldBlock else { return error }
        var named = StoreError(error).with(record)
        if let storage = store?.storage { named = named.located(in: storage) }
        named.reason += " (field \(field))"
        return .refused(named)
    }
}
