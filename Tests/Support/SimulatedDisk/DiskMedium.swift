import StratusFiles

/// All files and directories: a value, whose copies share what none of them has changed.
struct DiskMedium: Sendable {
    var options: DiskOptions
    /// Places of files that are gone are used again, as inode numbers are.
    private(set) var files: [DiskFile] = []
    /// The first is the root.
    private(set) var directories = [DiskDirectory()]
    private var freeFiles: [Int] = []
    /// A moment more with every change.
    private var changeCount = 0

    init(options: DiskOptions) { self.options = options }

    /// Changes a file in place, without a copy.
    mutating func withFile<Result>(_ file: Int, _ body: (inout DiskFile) -> Result) -> Result {
        body(&files[file])
    }

    func node(_ name: String, in directory: Int) -> DiskNode? {
        directories[directory].visible[name]
    }

    mutating func makeFile(_ name: String, in directory: Int, _ file: DiskFile) -> Int {
        let place = makeFile(file)
        link(place, as: name, in: directory)
        return place
    }

    mutating func link(_ file: Int, as name: String, in directory: Int) {
        files[file].links += 1
        directories[directory].set(name, to: .file(file))
        touch(.directory(directory))
    }

    /// A file without a name.
    mutating func makeFile(_ file: DiskFile) -> Int {
        let place: Int
        if let free = freeFiles.popLast() {
            place = free
            files[place] = file
        } else {
            place = files.count
            files.append(file)
        }
        touch(.file(place))
        return place
    }

    mutating func makeDirectory(_ name: String, in parent: Int) {
        directories.append(DiskDirectory())
        directories[parent].set(name, to: .directory(directories.count - 1))
        touch(.directory(directories.count - 1))
        touch(.directory(parent))
    }

    mutating func unlink(_ name: String, in directory: Int) {
        if case .file(let file) = node(name, in: directory) { files[file].links -= 1 }
        directories[directory].set(name, to: nil)
        touch(.directory(directory))
    }

    /// The file that has the new name loses it.
    mutating func rename(_ name: String, to newName: String, in directory: Int) {
        if case .file(let old) = node(newName, in: directory) { files[old].links -= 1 }
        directories[directory].rename(name, to: newName)
        touch(.directory(directory))
    }

    /// The bytes or the names of a node were changed.
    mutating func touch(_ node: DiskNode) {
        changeCount += 1
        let now = DiskAttributes.moment(changeCount)
        withAttributes(of: node) { $0.modified = now }
    }

    /// Changes in place what a node has besides its bytes or names.
    mutating func withAttributes(of node: DiskNode, _ body: (inout DiskAttributes) -> Void) {
        changeCount += 1
        let now = DiskAttributes.moment(changeCount)
        func change(_ attributes: inout DiskAttributes) {
            body(&attributes)
            attributes.changed = now
        }
        switch node {
        case .file(let file): change(&files[file].attributes)
        case .directory(let directory): change(&directories[directory].attributes)
        }
    }

    /// Changes a name on the medium itself.
    mutating func damageName(_ name: String, to node: DiskNode?, in directory: Int) {
        if case .file(let old) = self.node(name, in: directory) { files[old].links -= 1 }
        if case .file(let new) = node { files[new].links += 1 }
        directories[directory].damage(name, to: node)
    }

    mutating func synchronize(_ node: DiskNode) {
        switch node {
        case .file(let file):
            files[file].synchronize(keepingReplaced: options.keepsReplacedSectors)
        case .directory(let directory):
            directories[directory].synchronize()
            reclaim()
        }
    }

    mutating func failSynchronization(_ node: DiskNode) {
        switch node {
        case .file(let file): files[file].failSynchronization(evicting: options.failedSyncEvicts)
        case .directory(let directory): directories[directory].failSynchronization()
        }
    }
}

// Room.
extension DiskMedium {
    /// How many bytes of blocks are free, or nil where there is no limit.
    var room: Int? {
        guard let capacity = options.capacity else { return nil }
        var used = 0
        for file in files where file.links > 0 || file.openCount > 0 {
            used += file.visible.blockCount * FileContent.sectorSize
        }
        return max(0, capacity - used)
    }

    /// How many of so many bytes can be written at a place.
    func writableCount(_ count: Int, at offset: Int, in file: Int) -> Int {
        guard let room else { return count }
        var free = room / FileContent.sectorSize
        var place = offset
        while place < offset + count {
            let sector = place / FileContent.sectorSize
            if files[file].visible[sector].isHole {
                guard free > 0 else { return place - offset }
                free -= 1
            }
            place = (sector + 1) * FileContent.sectorSize
        }
        return count
    }

    /// Frees the files that no process and no directory knows any more.
    private mutating func reclaim() {
        for file in files.indices where files[file].links == 0 && files[file].openCount == 0 {
            let isKnown = directories.contains { $0.mayKnow(.file(file)) }
            if !isKnown { free(file) }
        }
    }

    private mutating func free(_ file: Int) {
        guard files[file].links >= 0 else { return }
        files[file] = DiskFile()
        files[file].links = -1
        freeFiles.append(file)
    }
}

// The power goes, or the processes do.
extension DiskMedium {
    mutating func crash(seed: UInt64) {
        var chance = CrashChance(seed: seed)
        for directory in directories.indices { directories[directory].crash(&chance) }
        let old = oldBlocks(&chance.generator)
        for file in files.indices where files[file].links >= 0 {
            files[file].crash(&chance, options: options) { generator in
                old.isEmpty || generator.oneIn(3)
                    ? generator.bytes(FileContent.sectorSize) : old[generator.below(old.count)]
            }
        }
        recount()
    }

    /// No descriptor is open any more.
    mutating func closeAll() {
        for file in files.indices { files[file].openCount = 0 }
        reclaim()
    }

    /// Counts the links anew and frees all that cannot be reached from the root.
    private mutating func recount() {
        for file in files.indices where files[file].links > 0 { files[file].links = 0 }
        var reached = [Bool](repeating: false, count: directories.count)
        var waiting = [0]
        while let directory = waiting.popLast() {
            reached[directory] = true
            for node in directories[directory].visible.values {
                switch node {
                case .file(let file): files[file].links += 1
                case .directory(let child): waiting.append(child)
                }
            }
        }
        for directory in directories.indices where !reached[directory] {
            directories[directory].removeAll()
        }
        for file in files.indices where files[file].links == 0 { free(file) }
    }

    /// A sample of the blocks that are on the medium, to serve as what is left of old files.
    private func oldBlocks(_ generator: inout SeededGenerator) -> [[UInt8]] {
        guard options.garbageInGaps || options.garbageInAllocations, !files.isEmpty else {
            return []
        }
        var blocks: [[UInt8]] = []
        for _ in 0..<64 {
            let content = files[generator.below(files.count)].durable
            let count = FileContent.sectors(for: content.length)
            guard count > 0 else { continue }
            if case .written(let bytes) = content[generator.below(count)] { blocks.append(bytes) }
        }
        return blocks
    }
}

// Paths.
extension DiskMedium {
    /// The directory at `path`, from the root, or nil.
    func directory(_ path: some StringProtocol) -> Int? {
        guard case .directory(let place) = node(path) else { return nil }
        return place
    }

    /// What is at `path`, from the root; the root is also the working directory. Nil where there is
    /// nothing.
    func node(_ path: some StringProtocol) -> DiskNode? {
        try? resolve(Array(path.utf8), from: 0, followsLast: true, .status)
    }

    /// What `path` leads to, from the root or, where it is not absolute, from a directory. A link
    /// as the last part is followed only where `followsLast` says so.
    func resolve(
        _ path: [UInt8], from base: Int, followsLast: Bool, _ call: DiskCall
    ) throws(SystemError) -> DiskNode {
        var here = DiskNode.directory(path.first == UInt8(ascii: "/") ? 0 : base)
        var waiting = Array(path.split(separator: UInt8(ascii: "/")).reversed())
        var linkCount = 0
        while let part = waiting.popLast() {
            guard case .directory(let directory) = here else {
                throw SystemError(.notDirectory, in: call.systemCall)
            }
            if part.elementsEqual(".".utf8) { continue }
            if part.elementsEqual("..".utf8) {
                here = .directory(parent(of: directory))
                continue
            }
            let name = try Self.name(part, call)
            guard let node = node(name, in: directory) else {
                throw SystemError(.notFound, in: call.systemCall)
            }
            guard let target = target(of: node), followsLast || !waiting.isEmpty else {
                here = node
                continue
            }
            linkCount += 1
            if linkCount > 40 { throw SystemError(.tooManyLinks, in: call.systemCall) }
            if target.first == UInt8(ascii: "/") { here = .directory(0) }
            waiting += target.split(separator: UInt8(ascii: "/")).reversed()
        }
        return here
    }

    /// Where a symbolic link points to; nil where the node is none.
    func target(of node: DiskNode) -> [UInt8]? {
        guard case .file(let file) = node, files[file].isLink else { return nil }
        return files[file].visible.bytes
    }

    /// The name as this disk has it: some file systems take only UTF-8.
    static func name(
        _ bytes: some Collection<UInt8>, _ call: DiskCall
    ) throws(SystemError) -> String {
        guard let name = String(validating: bytes, as: UTF8.self) else {
            throw SystemError(.badName, in: call.systemCall)
        }
        return name
    }

    /// The root is the directory above itself.
    private func parent(of directory: Int) -> Int {
        directories.firstIndex { $0.visible.values.contains(.directory(directory)) } ?? 0
    }

    /// The directory that `path` lies in and the last name of `path`.
    func parent(of path: String) -> (directory: Int, name: String)? {
        let parts = path.split(separator: "/")
        guard let name = parts.last, name != ".", name != "..",
            let directory = directory(parts.dropLast().joined(separator: "/"))
        else { return nil }
        return (directory, String(name))
    }
}
