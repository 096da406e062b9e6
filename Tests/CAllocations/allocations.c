#include "CAllocations.h"
#include <stdatomic.h>
#include <stddef.h>

// What a program that links this asks for memory passes here on its way to the C library.

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static _Atomic uint64_t count;

uint64_t allocations_count(void) { return count; }

void *malloc(size_t size) {
    count++;
    return __libc_malloc(size);
}
void *calloc(size_t elements, size_t size) {
    count++;
    return __libc_calloc(elements, size);
}
void *realloc(void *old, size_t size) {
    count++;
    return __libc_realloc(old, size);
}
int posix_memalign(void **place, size_t alignment, size_t size) {
    count++;
    *place = __libc_memalign(alignment, size);
    return *place ? 0 : 12;
}
