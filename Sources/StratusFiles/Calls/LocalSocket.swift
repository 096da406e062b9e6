internal import CLinux
internal import Glibc
internal import Synchronization

/// Waits for connections from processes of this machine, under a name of unix(7) that is no path: it
/// leaves no file behind, and goes with the process.
package final class LocalListener: Sendable {
    private struct State {
        var isStopped = false
        /// Those that were accepted and are still used.
        var open: [ObjectIdentifier: LocalConnection] = [:]
    }

    private let descriptor: Int32
    private let state = Mutex(State())

    /// Fails with `exists` where another process listens under that name.
    package init(name: String) throws(SystemError) {
        descriptor = try LocalConnection.descriptor(name, listens: true)
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Waits for the next process of this user, or of the system's, to connect; others are turned
    /// away. Nil once it was stopped.
    package func accept() throws(SystemError) -> LocalConnection? {
        while true {
            let accepted = clinux_accept_local(descriptor)
            if state.withLock({ $0.isStopped }) {
                if accepted >= 0 { _ = Glibc.close(accepted) }
                return nil
            }
            if accepted == -EINTR || accepted == -ECONNABORTED { continue }
            guard accepted >= 0 else { throw SystemError(number: -accepted, in: "accept") }
            let connection = LocalConnection(accepted)
            guard let user = connection.peerUser, user == geteuid() || user == 0 else { continue }
            let isStopped = state.withLock { state in
                state.open[ObjectIdentifier(connection)] = connection
                return state.isStopped
            }
            if isStopped { connection.endReading() }
            return connection
        }
    }

    /// Says that a connection is used no more.
    package func release(_ connection: LocalConnection) {
        state.withLock { $0.open[ObjectIdentifier(connection)] = nil }
    }

    /// Ends the waiting, and the reading of all connections. What they were asked is still answered.
    package func stop() {
        let open = state.withLock { state in
            state.isStopped = true
            return state.open.values.map(\.self)
        }
        _ = Glibc.shutdown(descriptor, Int32(SHUT_RDWR))
        for connection in open { connection.endReading() }
    }
}

/// A connection between two processes of this machine.
package final class LocalConnection: Sendable {
    private let descriptor: Int32

    fileprivate init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { _ = Glibc.close(descriptor) }

    /// Connects to the listener of a name; nil where there is none.
    package static func open(_ name: String) throws(SystemError) -> LocalConnection? {
        do throws(SystemError) {
            return LocalConnection(try descriptor(name, listens: false))
        } catch {
            if error.code == .other(ECONNREFUSED) || error.code == .notFound { return nil }
            throw error
        }
    }

    fileprivate static func descriptor(
        _ name: String, listens: Bool
    ) throws(SystemError) -> Int32 {
        // Safe: the calls read as many bytes as they are told, which are there while they run.
        let result = unsafe name.withCString { text in
            let length = name.utf8.count
            return unsafe listens
                ? clinux_listen_local(text, length) : clinux_connect_local(text, length)
        }
        let call: StaticString = listens ? "listen" : "connect"
        if result == -EADDRINUSE { throw SystemError(.exists, in: call) }
        guard result >= 0 else { throw SystemError(number: -result, in: call) }
        return result
    }

    /// Whose process is at the other end; nil where the system does not say.
    package var peerUser: UInt32? {
        var user: UInt32 = 0
        // Safe: the call fills the number, which outlives it.
        let result = unsafe clinux_peer_user(descriptor, &user)
        return result == 0 ? user : nil
    }

    /// From now on ``read(upTo:)`` waits so long at most, and then finds the end.
    package func limitWaiting(seconds: Int) {
        var time = timeval(tv_sec: seconds, tv_usec: 0)
        // Safe: the call reads the structure, which outlives it.
        _ = unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Waits for some bytes, at most `count`; none at the end. A listener waits a minute at most.
    package func read(upTo count: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        while true {
            // Safe: the call writes no more than the array holds.
            let result = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            }
            if result >= 0 {
                bytes.removeLast(count - result)
                return bytes
            }
            switch errno {
            case EINTR: continue
            // It has gone, or asks nothing.
            case ECONNRESET, EAGAIN: return []
            default: throw SystemError(number: errno, in: "read")
            }
        }
    }

    /// Sends all of `bytes`.
    package func write(_ bytes: Span<UInt8>) throws(SystemError) {
        var sent = 0
        while sent < bytes.count {
            let rest = bytes.extracting(sent...)
            // Safe: the call reads no more than the span holds.
            let result = unsafe rest.withUnsafeBytes { buffer in
                unsafe Glibc.send(
                    descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            }
            if result >= 0 {
                sent += result
            } else if errno != EINTR {
                throw SystemError(number: errno, in: "send")
            }
        }
    }

    /// Takes nothing more from the other end; what it asked for is still sent.
    fileprivate func endReading() { _ = Glibc.shutdown(descriptor, Int32(SHUT_RD)) }
}
