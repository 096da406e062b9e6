/// What the page says beside its figures.
enum Explanations {
    static let columns = """
        Every run is a process of its own; engines take turns within each repeat. Figures are medians
        of the repeats, the spread is the least and the most against the median. "Of the best rival"
        is how many times as good as the best rival of the same session, so more is better in every
        table. p50 and p99 are of a call (a save, a commit, a read). CPU and allocations are per
        item, of the timed calls alone, syncs (calls) and flushes (of the device's cache; every writer on the machine
        counts) per commit. Peak MB is what the process took beyond the records its callers held.
        Space is bytes on disk, write amplification bytes to the device, both by records x 353 B.
        Stratus compacts its journal by itself once a quarter of it is dead.
        Making records is not timed, encoding them is. After each run the feed was read: it held every
        record once, in ascending order; after a kill, every commit that had been acknowledged.

        In W6a the median is of the call alone, as p50 is elsewhere; the mean also has the freeing of
        the page, which takes the caller's time after the call. W6b is a rate and has it too.

        In W1 a rival's save blocks the thread of its caller until it is durable. That is what
        `saveAndWait` does, measured as W1-sync; in W1 Stratus' caller is a task, which is suspended
        and resumed. The figure to hold against the rivals' W1 is W1-sync.

        Every engine decodes the field of bytes into a `Data` of its own. Reading verifies a checksum
        in Stratus (each entry and each index block) and in RocksDB (each block), when the bytes come
        from a file and not from the engine's own cache. LevelDB stores checksums and does not verify
        them in reads, which is its default; SQLite has them in the write-ahead log alone and verifies
        them when it recovers; LMDB has none.
        """

    static let settings = """
        ## Settings

        | engine | settings | why |
        |---|---|---|
        | stratus | none; the public Swift interface; batches that may overwrite use the policy \
        `allKeys` | what a user gets; rivals overwrite too |
        | sqlite-* | WAL, synchronous FULL, prepared statements, 64 MB of cache; one connection writes, \
        each reader has its own | FULL is what syncs each commit in WAL mode |
        | sqlite-* in W3, W4, W8, commit | 512 MB of cache, checkpoint at 16,384 pages | fewer \
        checkpoints are its best setting for large batches |
        | lmdb, lmdb-fc | map of 64 GiB, MDB_NOTLS, a read transaction renewed for each read | the map \
        has to hold all; tasks change threads |
        | rocksdb | sync, Bloom filters of 10 bits, 64 MB block cache, 4 recycled logs; else as it \
        comes (64 MB write buffer) | filters answer "is it new"; a recycled log syncs without metadata |
        | leveldb | sync, Bloom filters of 10 bits, 64 MB cache, 64 MB write buffer; else as it comes | \
        the same buffers as RocksDB |
        | rivals in W2 | an application-level group commit: a caller starts a thread that commits \
        all that waits, unless one is running | only that gives a feed in order; `-native` is the \
        engine's own grouping from 64 threads, without that order |
        | all in W7-kill | the writer that is killed does not sync and never checkpoints | a kill \
        takes nothing from the system's cache |

        A rival keeps a sequence number per zone. It reads the record that it replaces, to take its old
        change out of the feed. Layouts: sqlite-cols binds 8 columns, sqlite-blob one; both have a
        unique index by (zone, name) and an index by (zone, number). lmdb: (zone, name) to contents,
        (zone, number) to name; lmdb-fc has the contents in the feed. rocksdb, leveldb: the layout of
        lmdb under two prefixes, written in one batch.
        """
}
