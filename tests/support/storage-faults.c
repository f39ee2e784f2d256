/*
 * Loaded with LD_PRELOAD: fails or delays the writes of a process below one folder, as a disk, a network file system or
 * a remount would. The test changes the faults at run time through a small file that both sides share.
 *
 * STORAGE_FAULT_FOLDER   absolute path of the folder, without links
 * STORAGE_FAULT_CONTROL  file of three native ints: errno of writes, errno of syncs, delay of a sync in milliseconds
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static const volatile int *faults;
static const char *folder;

__attribute__((constructor)) static void begin(void) {
  const char *control = getenv("STORAGE_FAULT_CONTROL");
  folder = getenv("STORAGE_FAULT_FOLDER");
  if (!control || !folder) return;
  int file = open(control, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void *map = mmap(0, 3 * sizeof(int), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (map != MAP_FAILED) faults = map;
}

static int below(const char *path) {
  size_t length = strlen(folder);
  return strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int is_file_there(int file) {
  char link[40], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return below(path);
}

static int write_error(int file) { return faults && faults[0] && is_file_there(file) ? faults[0] : 0; }
static int path_error(const char *path) { return faults && faults[0] && below(path) ? faults[0] : 0; }

static int sync_error(int file) {
  if (!faults || (!faults[1] && !faults[2]) || !is_file_there(file)) return 0;
  struct timespec delay = {faults[2] / 1000, (faults[2] % 1000) * 1000000L};
  if (faults[2]) nanosleep(&delay, 0);
  return faults[1];
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define FAIL(code) \
  do { \
    int found = (code); \
    if (found) { \
      errno = found; \
      return -1; \
    } \
  } while (0)

ssize_t write(int file, const void *bytes, size_t count) {
  REAL(write);
  FAIL(write_error(file));
  return real(file, bytes, count);
}

ssize_t writev(int file, const struct iovec *parts, int count) {
  REAL(writev);
  FAIL(write_error(file));
  return real(file, parts, count);
}

ssize_t pwrite(int file, const void *bytes, size_t count, off_t at) {
  REAL(pwrite);
  FAIL(write_error(file));
  return real(file, bytes, count, at);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t at) {
  REAL(pwrite64);
  FAIL(write_error(file));
  return real(file, bytes, count, at);
}

ssize_t pwritev64(int file, const struct iovec *parts, int count, off64_t at) {
  REAL(pwritev64);
  FAIL(write_error(file));
  return real(file, parts, count, at);
}

int ftruncate64(int file, off64_t length) {
  REAL(ftruncate64);
  FAIL(write_error(file));
  return real(file, length);
}

int fsync(int file) {
  REAL(fsync);
  FAIL(sync_error(file));
  return real(file);
}

int fdatasync(int file) {
  REAL(fdatasync);
  FAIL(sync_error(file));
  return real(file);
}

int open(const char *path, int flags, ...) {
  REAL(open);
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) FAIL(path_error(path));
  return real(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  REAL(open64);
  va_list more;
  va_start(more, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)) FAIL(path_error(path));
  return real(path, flags, mode);
}

int rename(const char *from, const char *to) {
  REAL(rename);
  FAIL(path_error(to));
  return real(from, to);
}

int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  FAIL(path_error(path));
  return real(path, mode);
}

int unlink(const char *path) {
  REAL(unlink);
  FAIL(path_error(path));
  return real(path);
}
