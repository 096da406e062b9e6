// Linux calls that Swift's Glibc module does not show. Each returns what the call returns, or the
// negated errno, so that no other call can come between the failure and its reason.
#ifndef CLINUX_H
#define CLINUX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// openat(2). `flags` and `mode` as there.
int clinux_openat(int directory, const char *name, int flags, mode_t mode);

/// fallocate(2) without growing the file.
int clinux_allocate(int file, off_t offset, off_t length);

/// renameat2(2) with RENAME_NOREPLACE: the new name must not exist.
int clinux_rename_exclusive(int directory, const char *from, const char *to);

/// preadv2(2) with RWF_NOWAIT: only what the page cache holds.
ssize_t clinux_read_nowait(int file, void *bytes, size_t count, off_t offset);

/// getrandom(2).
ssize_t clinux_random(void *bytes, size_t count);

#endif
