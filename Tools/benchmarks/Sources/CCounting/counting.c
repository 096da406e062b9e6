#define _GNU_SOURCE
#include "CCounting.h"
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

// A counter for each thread, on a cache line of its own: a shared one would slow down two threads.
#define SLOTS 4096
static struct { _Alignas(64) _Atomic uint64_t count; } allocations[SLOTS];
static _Atomic uint32_t slots_taken;
static _Thread_local uint32_t slot;

static inline void count_allocation(void) {
    if (slot == 0) slot = 1 + atomic_fetch_add(&slots_taken, 1) % (SLOTS - 1);
    _Atomic uint64_t *count = &allocations[slot].count;
    uint64_t before = atomic_load_explicit(count, memory_order_relaxed);
    atomic_store_explicit(count, before + 1, memory_order_relaxed);
}

uint64_t counting_allocations(void) {
    uint64_t sum = 0;
    uint32_t taken = slots_taken < SLOTS - 1 ? slots_taken : SLOTS - 1;
    for (uint32_t i = 1; i <= taken; i++) sum += allocations[i].count;
    return sum;
}

void *malloc(size_t size) {
    count_allocation();
    return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
    count_allocation();
    return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size) {
    count_allocation();
    return __libc_realloc(old, size);
}
int posix_memalign(void **place, size_t alignment, size_t size) {
    count_allocation();
    *place = __libc_memalign(alignment, size);
    return *place ? 0 : 12;
}

static _Atomic uint64_t syncs;

uint64_t counting_syncs(void) { return syncs; }

int fsync(int file) {
    syncs++;
    return (int)syscall(SYS_fsync, file);
}
int fdatasync(int file) {
    syncs++;
    return (int)syscall(SYS_fdatasync, file);
}
int msync(void *start, size_t length, int flags) {
    syncs++;
    return (int)syscall(SYS_msync, start, length, flags);
}
int syncfs(int file) {
    syncs++;
    return (int)syscall(SYS_syncfs, file);
}
int sync_file_range(int file, off_t start, off_t length, unsigned int flags) {
    syncs++;
    return (int)syscall(SYS_sync_file_range, file, start, length, flags);
}

void counting_trim(void) { malloc_trim(0); }
