import StratusBytes

/// A file as processes see it, as the medium holds it, and what lies between the two.
struct DiskFile: Sendable {
    /// What reads return.
    private(set) var visible = FileContent()
    /// What the medium holds for certain.
    private(set) var durable = FileContent()
    /// How many names processes see.
    var links = 0
    /// How many descriptors are open.
    var openCount = 0
    /// Whether it is a symbolic link, whose content is where it points to.
    private(set) var isLink = false
    /// As processes see them; a crash leaves them as they are.
    var attributes = DiskAttributes(permissions: 0o600)

    private var pending = PendingChanges()
    /// What a failed synchronisation left: pages that are clean in memory, and on the medium or
    /// not. No later synchronisation writes them.
    private var limbo = PendingChanges()
    /// Sectors of the medium that a synchronisation replaced, oldest first.
    private var replaced: [SectorChange] = []

    var isClean: Bool { pending.isEmpty && limbo.isEmpty }

    init() {}

    /// A file whose content is durable.
    init(_ bytes: [UInt8]) {
        replace(bytes)
    }

    /// A symbolic link, whose target is durable with its name.
    init(linkTo target: [UInt8]) {
        replace(target)
        isLink = true
        attributes = DiskAttributes(permissions: 0o777)
    }

    /// Writes without a limit on room; the caller has checked.
    mutating func write(_ bytes: Span<UInt8>, at offset: Int) {
        var done = 0
        while done < bytes.count {
            let place = offset + done
            let sector = place / FileContent.sectorSize
            let start = place % FileContent.sectorSize
            let step = min(FileContent.sectorSize - start, bytes.count - done)
            let content: [UInt8]
            if step == FileContent.sectorSize {
                content = bytes.array(in: done..<done + step)
            } else {
                var old = visible.bytes(ofSector: sector)
                var span = old.mutableSpan
                span.copy(bytes.extracting(done..<done + step), to: start)
                content = old
            }
            change(sector, .written(content))
            done += step
        }
        if offset + done > visible.length { setLength(offset + done) }
    }

    mutating func truncate(to length: Int) {
        let end = FileContent.sectors(for: length)
        if length < visible.length {
            for sector in end..<max(end, FileContent.sectors(for: visible.length)) {
                if case .written = visible[sector] { change(sector, .hole) }
            }
            if let masked = visible.masked(to: length) { change(end - 1, masked) }
            pending.lowestLength = min(pending.lowestLength ?? length, length)
            pending.allocations = pending.allocations.map { $0.clamped(to: 0..<end) }
        }
        setLength(length)
    }

    mutating func allocate(_ sectors: Range<Int>) {
        visible.allocate(sectors)
        pending.allocations.append(sectors)
    }

    /// Makes holes of the whole sectors in a range of bytes, and zeros of the rest of it.
    mutating func deallocate(_ bytes: Range<Int>) {
        let size = FileContent.sectorSize
        let first = min(FileContent.sectors(for: bytes.lowerBound) * size, bytes.upperBound)
        let last = max(first, bytes.upperBound / size * size)
        for part in [bytes.lowerBound..<first, last..<bytes.upperBound] {
            write([UInt8](repeating: 0, count: part.count).span, at: part.lowerBound)
        }
        for sector in first / size..<last / size where !visible[sector].isHole {
            change(sector, .hole)
        }
    }

    private mutating func change(_ sector: Int, _ content: Sector) {
        visible.set(sector, content)
        pending.changes.append(SectorChange(sector: sector, content: content))
    }

    private mutating func setLength(_ length: Int) {
        visible.setLength(length)
        pending.lengths.append(length)
    }
}

extension DiskFile {
    /// The pending changes reach the medium; what is in limbo stays there.
    mutating func synchronize(keepingReplaced: Bool) {
        if !limbo.isEmpty { limbo.forget(what: pending) }
        if let lowest = pending.lowestLength, lowest < durable.length { durable.setLength(lowest) }
        for range in pending.allocations { durable.allocate(range) }
        for change in pending.changes {
            if keepingReplaced {
                let old = SectorChange(sector: change.sector, content: durable[change.sector])
                if old.content != change.content { replaced.append(old) }
            }
            durable.set(change.sector, change.content)
        }
        if !pending.lengths.isEmpty { durable.setLength(visible.length) }
        pending = PendingChanges()
    }

    /// The kernel could not write and takes the pages for clean all the same.
    ///
    /// - Parameter evicting: Whether reads return the old content from now on.
    mutating func failSynchronization(evicting: Bool) {
        if evicting {
            for change in pending.changes {
                visible.set(change.sector, durable[change.sector])
            }
            visible.trim()
        }
        limbo.append(pending)
        pending = PendingChanges()
    }

    /// The power goes: any of the changes since the last synchronisation is on the medium or not.
    ///
    /// - Parameter garbage: Returns what an old block on the disk may hold.
    mutating func crash(
        _ chance: inout CrashChance, options: DiskOptions,
        garbage: (inout SeededGenerator) -> [UInt8]
    ) {
        defer { openCount = 0 }
        if !isClean {
            limbo.append(pending)
            let oldLength = durable.length
            let length = chance.length([oldLength] + limbo.lengths)
            for range in limbo.allocations where chance.generator.oneIn(2) {
                durable.allocate(range)
            }
            for group in limbo.changesBySector() {
                var sector = chance.sector(
                    [durable[group.sector]] + group.versions, tearing: options.tearsSectors)
                let gap = max(oldLength - group.sector * FileContent.sectorSize, 0)
                if options.garbageInGaps, sector == durable[group.sector],
                    gap < FileContent.sectorSize, chance.generator.oneIn(2)
                {
                    let kept = FileContent.bytes(sector)[..<gap]
                    sector = .written(Array(kept) + garbage(&chance.generator)[gap...])
                }
                durable.set(group.sector, sector)
            }
            durable.setLength(length)
            durable.trim()
            pending = PendingChanges()
            limbo = PendingChanges()
        }
        if options.garbageInAllocations { fillAllocations(&chance.generator, garbage) }
        visible = durable
    }

    private mutating func fillAllocations(
        _ generator: inout SeededGenerator, _ garbage: (inout SeededGenerator) -> [UInt8]
    ) {
        for sector in 0..<FileContent.sectors(for: durable.length)
        where durable[sector] == .unwritten && generator.oneIn(2) {
            durable.set(sector, .written(garbage(&generator)))
        }
        durable.trim()
    }
}

// Damage. It changes what is visible too, as after a restart.
extension DiskFile {
    /// Replaces the content; nothing is pending afterwards.
    mutating func replace(_ bytes: [UInt8]) {
        pending = PendingChanges()
        limbo = PendingChanges()
        visible = FileContent()
        write(bytes.span, at: 0)
        pending = PendingChanges()
        durable = visible
    }

    mutating func damage(_ body: (inout FileContent) -> Void) {
        body(&durable)
        body(&visible)
    }

    /// Brings back what a sector held before its last `count` synchronised changes.
    mutating func makeStale(sector: Int, by count: Int) -> Bool {
        let versions = replaced.filter { $0.sector == sector }
        guard count > 0, count <= versions.count else { return false }
        let old = versions[versions.count - count].content
        damage { content in
            content.set(sector, old)
            content.trim()
        }
        return true
    }
}
