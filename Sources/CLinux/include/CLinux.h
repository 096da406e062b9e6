// Linux calls that Swift's Glibc module does not show. Each returns what the call returns, or the
// negated errno, so that no other call can come between the failure and its reason. No header of
// the system is included: its types would then belong to this module and not to Glibc.
#ifndef CLINUX_H
#define CLINUX_H

#include <stddef.h>
#include <stdint.h>

/// openat(2). `flags` and `mode` as there.
int clinux_openat(int directory, const char *name, int flags, uint32_t mode);

/// openat(2) with O_TMPFILE, for reading and writing: a file without a name in `directory`.
int clinux_open_unnamed(int directory, uint32_t mode);

/// linkat(2) of an open file: gives one without a name its name.
int clinux_link_unnamed(int file, int directory, const char *name);

/// openat(2) with O_PATH, O_DIRECTORY and O_CLOEXEC: a directory that need not be readable.
int clinux_open_directory_path(int directory, const char *name);

/// fallocate(2) without growing the file.
int clinux_allocate(int file, int64_t offset, int64_t length);

/// fallocate(2) that makes a hole and keeps the file's length.
int clinux_deallocate(int file, int64_t offset, int64_t length);

/// ioctl(FICLONE): makes an empty file what another one is; both share blocks until one of them is changed.
int clinux_clone(int source, int target);

/// pwritev2(2) with RWF_DONTCACHE; where the kernel or the file system does not know that,
/// pwritev(2) and sync_file_range(2). `parts` are of the type iovec.
int64_t clinux_write_streamed(int file, const void *parts, int count, int64_t offset);

/// sync_file_range(2) with SYNC_FILE_RANGE_WRITE.
int clinux_start_writing(int file, int64_t offset, int64_t length);

/// renameat2(2) with RENAME_NOREPLACE: the new name must not exist.
int clinux_rename_exclusive(int directory, const char *from, const char *to);

/// preadv2(2) with RWF_NOWAIT: only what the page cache holds.
int64_t clinux_read_nowait(int file, void *bytes, size_t count, int64_t offset);

/// preadv2(2) with RWF_DONTCACHE; where the kernel or the file system does not know that, pread(2).
int64_t clinux_read_streamed(int file, void *bytes, size_t count, int64_t offset);

/// getrandom(2).
int64_t clinux_random(void *bytes, size_t count);

/// mallopt(3) with M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
void clinux_set_heap(int mapped, int kept);

/// socket(2), bind(2) and listen(2) for an abstract name of unix(7), which leaves no file behind.
int clinux_listen_local(const char *name, size_t length);

/// socket(2) and connect(2) to one, with SO_SNDTIMEO of ten seconds.
int clinux_connect_local(const char *name, size_t length);

/// accept4(2) with SOCK_CLOEXEC, and SO_RCVTIMEO of a minute and SO_SNDTIMEO of ten seconds.
int clinux_accept_local(int listener);

/// getsockopt(2) with SO_PEERCRED: the user whose process is at the other end.
int clinux_peer_user(int socket, uint32_t *user);

/// strerrordesc_np(3): what an errno means, in English; null for an unknown one.
const char *clinux_error_text(int number);

#endif
