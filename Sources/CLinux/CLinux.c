// _GNU_SOURCE stays out of the header: there it would break the Glibc module of Swift.
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <stddef.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

int clinux_openat(int directory, const char *name, int flags, uint32_t mode) {
    int result = openat(directory, name, flags, mode);
    return result < 0 ? -errno : result;
}

int clinux_open_unnamed(int directory, uint32_t mode) {
    int result = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
    return result < 0 ? -errno : result;
}

// By its place below /proc, since AT_EMPTY_PATH needs a capability.
int clinux_link_unnamed(int file, int directory, const char *name) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return linkat(AT_FDCWD, path, directory, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

int clinux_open_directory_path(int directory, const char *name) {
    int result = openat(directory, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return result < 0 ? -errno : result;
}

int clinux_allocate(int file, int64_t offset, int64_t length) {
    return fallocate(file, FALLOC_FL_KEEP_SIZE, offset, length) < 0 ? -errno : 0;
}

int clinux_deallocate(int file, int64_t offset, int64_t length) {
    int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    return fallocate(file, mode, offset, length) < 0 ? -errno : 0;
}

int clinux_clone(int source, int target) {
    return ioctl(target, FICLONE, source) < 0 ? -errno : 0;
}

// Since Linux 6.14; headers may be older.
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080
#endif

int64_t clinux_write_streamed(int file, const void *parts, int count, int64_t offset) {
    int64_t result = pwritev2(file, parts, count, offset, RWF_DONTCACHE);
    if (result < 0 && (errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS)) {
        result = pwritev(file, parts, count, offset);
        // What fails here fails in the sync, which is the one to say so.
        if (result > 0) clinux_start_writing(file, offset, result);
    }
    return result < 0 ? -errno : result;
}

int clinux_start_writing(int file, int64_t offset, int64_t length) {
    return sync_file_range(file, offset, length, SYNC_FILE_RANGE_WRITE) < 0 ? -errno : 0;
}

int clinux_rename_exclusive(int directory, const char *from, const char *to) {
    return renameat2(directory, from, directory, to, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

int64_t clinux_read_nowait(int file, void *bytes, size_t count, int64_t offset) {
    struct iovec part = {.iov_base = bytes, .iov_len = count};
    int64_t result = preadv2(file, &part, 1, offset, RWF_NOWAIT);
    return result < 0 ? -errno : result;
}

int64_t clinux_read_streamed(int file, void *bytes, size_t count, int64_t offset) {
    struct iovec part = {.iov_base = bytes, .iov_len = count};
    int64_t result = preadv2(file, &part, 1, offset, RWF_DONTCACHE);
    if (result < 0 && (errno == EOPNOTSUPP || errno == EINVAL || errno == ENOSYS)) {
        result = pread(file, bytes, count, offset);
    }
    return result < 0 ? -errno : result;
}

int64_t clinux_random(void *bytes, size_t count) {
    int64_t result = getrandom(bytes, count, 0);
    return result < 0 ? -errno : result;
}

void clinux_set_heap(int mapped, int kept) {
    mallopt(M_MMAP_THRESHOLD, mapped);
    mallopt(M_TRIM_THRESHOLD, kept);
}

const char *clinux_error_text(int number) {
    return strerrordesc_np(number);
}

// A zero byte before the name makes it one that is no path.
static int local_socket(const char *name, size_t length, struct sockaddr_un *address) {
    if (length >= sizeof address->sun_path) return -ENAMETOOLONG;
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path + 1, name, length);
    int result = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return result < 0 ? -errno : result;
}

static socklen_t local_length(size_t length) {
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static int closing(int file, int error) {
    close(file);
    return -error;
}

// In seconds; 0: none.
static void set_limits(int file, int sending, int receiving) {
    struct timeval limit = {.tv_sec = sending};
    setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    limit.tv_sec = receiving;
    setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

int clinux_listen_local(const char *name, size_t length) {
    struct sockaddr_un address;
    int file = local_socket(name, length, &address);
    if (file < 0) return file;
    if (bind(file, (struct sockaddr *)&address, local_length(length)) < 0 || listen(file, 16) < 0)
        return closing(file, errno);
    return file;
}

int clinux_connect_local(const char *name, size_t length) {
    struct sockaddr_un address;
    int file = local_socket(name, length, &address);
    if (file < 0) return file;
    // Where many wait to be accepted, this one does no longer than so.
    set_limits(file, 10, 0);
    int result;
    do {
        result = connect(file, (struct sockaddr *)&address, local_length(length));
    } while (result < 0 && errno == EINTR);
    return result < 0 ? closing(file, errno) : file;
}

int clinux_accept_local(int listener) {
    int result = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (result < 0) return -errno;
    // Who does not read answers, or asks nothing, is waited for no longer than so.
    set_limits(result, 10, 60);
    return result;
}

int clinux_peer_user(int socket, uint32_t *user) {
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) return -errno;
    *user = peer.uid;
    return 0;
}
