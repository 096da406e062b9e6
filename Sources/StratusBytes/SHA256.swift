internal import CCrypto

/// The door to SHA-256 of libcrypto, for what must not collide even on purpose.
///
/// Safe: the context is made in `init`, freed once in `deinit`, and never leaves the value.
@safe
package struct SHA256: ~Copyable {
    private let context: OpaquePointer

    /// Whether the library frees nothing when the process ends: it would free what threads that are just
    /// ending still use.
    private static let isKeptAtExit =
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

    /// Begins a hash.
    package init() {
        // Safe: libcrypto returns a context or nil for want of memory; SHA-256 is always there.
        guard Self.isKeptAtExit, let context = unsafe EVP_MD_CTX_new(),
            unsafe EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
        else { preconditionFailure("libcrypto has no SHA-256") }
        unsafe self.context = context
    }

    deinit {
        // Safe: the context is freed once, here.
        unsafe EVP_MD_CTX_free(context)
    }

    package mutating func update(_ bytes: Span<UInt8>) {
        // Safe: pointer and length are those of the span, and nothing keeps them.
        let done = unsafe bytes.withUnsafeBytes { buffer in
            unsafe EVP_DigestUpdate(context, buffer.baseAddress, buffer.count)
        }
        precondition(done == 1)
    }

    /// The 32 bytes of the hash of all that was given.
    package consuming func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        var length: UInt32 = 0
        // Safe: SHA-256 writes 32 bytes, the room there is.
        let done = unsafe digest.withUnsafeMutableBufferPointer {
            unsafe EVP_DigestFinal_ex(context, $0.baseAddress, &length)
        }
        precondition(done == 1 && length == 32)
        return digest
    }

    /// SHA-256 of `bytes`.
    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes.span)
        return hash.finish()
    }
}
