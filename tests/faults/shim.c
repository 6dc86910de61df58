/* A library that injects faults: loaded before libc, it makes the n-th call of a kind fail for files below a folder.
 *
 * Start the program under test with this library in LD_PRELOAD. Its driver arms one fault with `fault_arm` and runs the
 * operation; `fault_count` returns the number of calls of each kind that the operation made, so that every n can be tried.
 *
 * kind       what the n-th call does
 * FAIL       returns an error number and does nothing
 * SHORT      writes or reads half of the requested bytes (a legal result, which callers must handle)
 * INTERRUPT  returns EINTR once (also legal)
 * DIE        ends the process at once, before the call
 *
 * If there is a log, every call that changes the disk is written to it with its data. The driver replays any prefix of
 * the log to build the disk after a power cut.
 *
 * Only one thread at a time should call; the counters are atomic nevertheless.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { OPEN, WRITE, SYNC, RENAME, UNLINK, TRUNCATE, MAP, READ, LINK, MKDIR, KINDS };
enum { FAIL = 1, SHORT, INTERRUPT, DIE };

static char prefix[4096];
static size_t prefix_length;
static atomic_long counts[KINDS];
static int armed_kind = -1, armed_mode, armed_errno, armed_forever;
static long armed_at;
static int log_fd = -1;
#define MAX_FDS 4096
static char *paths[MAX_FDS]; /* of open files below the folder */

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) _exit(99);
    return found;
}

/* The interface for the driver. */
void fault_watch(const char *folder) {
    strncpy(prefix, folder, sizeof prefix - 1);
    prefix_length = strlen(prefix);
}
void fault_arm(int kind, long at, int mode, int error, int forever) {
    for (int i = 0; i < KINDS; i++) atomic_store(&counts[i], 0);
    armed_kind = kind, armed_at = at, armed_mode = mode, armed_errno = error, armed_forever = forever;
}
void fault_disarm(void) { armed_kind = -1; }
long fault_count(int kind) { return atomic_load(&counts[kind]); }
void fault_log(const char *path) {
    log_fd = path ? REAL(open)(path, O_CREAT | O_WRONLY | O_TRUNC | O_APPEND, 0600) : -1;
}

static int below(const char *path) {
    return prefix_length && path && strncmp(path, prefix, prefix_length) == 0;
}
static const char *path_of(int fd) { return fd >= 0 && fd < MAX_FDS ? paths[fd] : NULL; }

/* Return the mode for this call; 0 lets it pass. */
static int due(int kind) {
    long number = atomic_fetch_add(&counts[kind], 1);
    if (kind != armed_kind || number < armed_at || (number > armed_at && !armed_forever)) return 0;
    if (armed_mode == DIE) _exit(77);
    if (armed_mode == INTERRUPT) {
        errno = EINTR;
    } else {
        errno = armed_errno;
    }
    return armed_mode;
}

/* Write a record: op, two names, offset, length, data. */
static void record(char op, const char *a, const char *b, int64_t offset, const void *data, size_t length) {
    if (log_fd < 0 || (a && !*a)) return;
    char head[9000];
    int n = snprintf(head, sizeof head, "%c\t%s\t%s\t%lld\t%zu\n", op, a ? a : "", b ? b : "", (long long)offset, length);
    ssize_t done = REAL(write)(log_fd, head, (size_t)n);
    if (length && data) done = REAL(write)(log_fd, data, length);
    (void)done;
}

static void opened(int fd, const char *path, int flags) {
    if (fd < 0 || fd >= MAX_FDS) return;
    free(paths[fd]);
    /* A file without a name is gone after a crash: its calls fail like others, and are not recorded. */
    paths[fd] = strdup((flags & __O_TMPFILE) == __O_TMPFILE ? "" : path);
    if (flags & O_CREAT) record('c', path, NULL, 0, NULL, 0);
    if (flags & O_TRUNC) record('t', path, NULL, 0, NULL, 0);
}

/* Return the path of a name below a folder's descriptor; NULL if it is not below the watched folder. */
static const char *whole(int folder, const char *path, char *space) {
    if (!path) return NULL;
    if (path[0] == '/') return below(path) ? path : NULL;
    if (folder == AT_FDCWD) return NULL;
    const char *top = path_of(folder);
    if (!top) return NULL;
    snprintf(space, 8192, "%s/%s", top, path);
    return space;
}

static int open_at(int folder, const char *path, int flags, mode_t mode) {
    char space[8192];
    const char *name = whole(folder, path, space);
    if (name && due(OPEN)) return -1;
    int fd = REAL(openat)(folder, path, flags, mode);
    if (name) opened(fd, name, flags);
    return fd;
}
#define MODE                              \
    mode_t mode = 0;                      \
    if (flags & (O_CREAT | __O_TMPFILE)) { \
        va_list list;                     \
        va_start(list, flags);            \
        mode = va_arg(list, mode_t);      \
        va_end(list);                     \
    }
int open(const char *path, int flags, ...) { MODE return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return open_at(AT_FDCWD, path, flags, mode); }
int openat(int folder, const char *path, int flags, ...) { MODE return open_at(folder, path, flags, mode); }
int openat64(int folder, const char *path, int flags, ...) { MODE return open_at(folder, path, flags, mode); }

int close(int fd) {
    if (fd >= 0 && fd < MAX_FDS && paths[fd]) {
        free(paths[fd]);
        paths[fd] = NULL;
    }
    return REAL(close)(fd);
}

ssize_t write(int fd, const void *data, size_t length) {
    const char *path = path_of(fd);
    if (path) {
        int mode = due(WRITE);
        if (mode == SHORT && length > 1) length /= 2;
        else if (mode == FAIL || mode == INTERRUPT) return -1;
    }
    int64_t at = path ? REAL(lseek)(fd, 0, SEEK_CUR) : 0;
    ssize_t done = REAL(write)(fd, data, length);
    if (path && done > 0) record('w', path, NULL, at, data, (size_t)done);
    return done;
}
static ssize_t pwrite_at(int fd, const void *data, size_t length, int64_t at) {
    const char *path = path_of(fd);
    if (path) {
        int mode = due(WRITE);
        if (mode == SHORT && length > 1) length /= 2;
        else if (mode == FAIL || mode == INTERRUPT) return -1;
    }
    ssize_t done = REAL(pwrite64)(fd, data, length, at);
    if (path && done > 0) record('w', path, NULL, at, data, (size_t)done);
    return done;
}
ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return pwrite_at(fd, data, length, at); }
ssize_t pwrite64(int fd, const void *data, size_t length, off64_t at) { return pwrite_at(fd, data, length, at); }
/* Callers fall back to write(), whose data can be recorded. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (!path_of(fd)) return REAL(writev)(fd, parts, count);
    for (int i = 0; i < count; i++)
        if (parts[i].iov_len) return write(fd, parts[i].iov_base, parts[i].iov_len);
    return 0;
}
ssize_t copy_file_range(int in, off64_t *in_at, int out, off64_t *out_at, size_t length, unsigned flags) {
    if (path_of(out)) { errno = ENOSYS; return -1; }
    return REAL(copy_file_range)(in, in_at, out, out_at, length, flags);
}
ssize_t sendfile(int out, int in, off_t *at, size_t length) {
    if (path_of(out)) { errno = EINVAL; return -1; }
    return REAL(sendfile)(out, in, at, length);
}
ssize_t sendfile64(int out, int in, off64_t *at, size_t length) {
    if (path_of(out)) { errno = EINVAL; return -1; }
    return REAL(sendfile64)(out, in, at, length);
}

ssize_t read(int fd, void *data, size_t length) {
    if (path_of(fd)) {
        int mode = due(READ);
        if (mode == SHORT && length > 1) length /= 2;
        else if (mode == FAIL || mode == INTERRUPT) return -1;
    }
    return REAL(read)(fd, data, length);
}
static ssize_t pread_at(int fd, void *data, size_t length, int64_t at) {
    if (path_of(fd)) {
        int mode = due(READ);
        if (mode == SHORT && length > 1) length /= 2;
        else if (mode == FAIL || mode == INTERRUPT) return -1;
    }
    return REAL(pread64)(fd, data, length, at);
}
ssize_t pread(int fd, void *data, size_t length, off_t at) { return pread_at(fd, data, length, at); }
ssize_t pread64(int fd, void *data, size_t length, off64_t at) { return pread_at(fd, data, length, at); }

static int synced(int fd, int (*call)(int)) {
    const char *path = path_of(fd);
    if (path && due(SYNC)) return -1;
    int done = call(fd);
    if (path && done == 0) record('s', path, NULL, 0, NULL, 0);
    return done;
}
int fsync(int fd) { return synced(fd, REAL(fsync)); }
int fdatasync(int fd) { return synced(fd, REAL(fdatasync)); }

static int cut(int fd, int64_t length) {
    const char *path = path_of(fd);
    if (path && due(TRUNCATE)) return -1;
    int done = REAL(ftruncate64)(fd, length);
    if (path && done == 0) record('t', path, NULL, length, NULL, 0);
    return done;
}
int ftruncate(int fd, off_t length) { return cut(fd, length); }
int ftruncate64(int fd, off64_t length) { return cut(fd, length); }

static int rename_at(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char a[8192], b[8192];
    const char *old = whole(from_folder, from, a), *new = whole(to_folder, to, b);
    if (old && new && due(RENAME)) return -1;
    int done = REAL(renameat2)(from_folder, from, to_folder, to, flags);
    if (old && new && done == 0) record(flags & RENAME_EXCHANGE ? 'x' : 'r', old, new, 0, NULL, 0);
    return done;
}
int rename(const char *from, const char *to) { return rename_at(AT_FDCWD, from, AT_FDCWD, to, 0); }
int renameat(int a, const char *from, int b, const char *to) { return rename_at(a, from, b, to, 0); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { return rename_at(a, from, b, to, flags); }

static int unlink_at(int folder, const char *path, int flags) {
    char space[8192];
    const char *name = whole(folder, path, space);
    if (name && due(UNLINK)) return -1;
    int done = REAL(unlinkat)(folder, path, flags);
    if (name && done == 0) record('u', name, NULL, 0, NULL, 0);
    return done;
}
int unlink(const char *path) { return unlink_at(AT_FDCWD, path, 0); }
int unlinkat(int folder, const char *path, int flags) { return unlink_at(folder, path, flags); }
int rmdir(const char *path) { return unlink_at(AT_FDCWD, path, AT_REMOVEDIR); }

int link(const char *from, const char *to) {
    int watched = below(from) && below(to);
    if (watched && due(LINK)) return -1;
    int done = REAL(link)(from, to);
    if (watched && done == 0) record('l', from, to, 0, NULL, 0);
    return done;
}
int mkdir(const char *path, mode_t mode) {
    int watched = below(path);
    if (watched && due(MKDIR)) return -1;
    int done = REAL(mkdir)(path, mode);
    if (watched && done == 0) record('m', path, NULL, 0, NULL, 0);
    return done;
}

static void *map_at(void *where, size_t length, int protection, int flags, int fd, int64_t at) {
    if (path_of(fd) && due(MAP)) return MAP_FAILED;
    return REAL(mmap64)(where, length, protection, flags, fd, at);
}
void *mmap(void *where, size_t length, int protection, int flags, int fd, off_t at) {
    return map_at(where, length, protection, flags, fd, at);
}
void *mmap64(void *where, size_t length, int protection, int flags, int fd, off64_t at) {
    return map_at(where, length, protection, flags, fd, at);
}
