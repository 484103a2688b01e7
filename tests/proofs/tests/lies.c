/* An operating-system layer that lies, put before the C library: the list that `lies.rs` judges. LIE selects one. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *lie(void) {
  const char *value = getenv("LIE");
  return value ? value : "";
}
static int is(const char *name) { return strcmp(lie(), name) == 0; }

static int real_sync(int fd) { return (int)syscall(SYS_fdatasync, fd); }
static ssize_t real_write(int fd, const void *bytes, size_t size, off_t at) {
  return syscall(SYS_pwrite64, fd, bytes, size, at);
}
static int is_folder(int fd) {
  struct stat found;
  return fstat(fd, &found) == 0 && S_ISDIR(found.st_mode);
}

/* The path of a descriptor. */
static const char *path_of(int fd) {
  static char path[4096];
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = readlink(link, path, sizeof path - 1);
  path[size < 0 ? 0 : size] = 0;
  return path;
}
static int is_journal(int fd) { return strstr(path_of(fd), "-journal") || strstr(path_of(fd), "-wal"); }

/* Syncs something else by its name, which `last` takes the place of the last part of if it is there. */
static int sync_other(int fd, const char *last, int flags) {
  char path[4200];
  snprintf(path, sizeof path, "%s", path_of(fd));
  char *slash = strrchr(path, '/');
  if (!slash) return real_sync(fd);
  if (last) strcpy(slash + 1, last); else *slash = 0;
  int other = open(path, flags, 0600);
  if (other < 0) return real_sync(fd);
  if (flags & O_CREAT) real_write(other, "x", 1, 0);
  int result = real_sync(other);
  close(other);
  return result;
}

static int is_traced(void) {
  char line[128];
  int tracer = 0;
  FILE *status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status)) sscanf(line, "TracerPid: %d", &tracer);
  if (status) fclose(status);
  return tracer != 0;
}

static void *sync_late(void *fd) {
  usleep(20000);
  real_sync((int)(intptr_t)fd);
  close((int)(intptr_t)fd);
  return NULL;
}
static int in_thread(int fd) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, sync_late, (void *)(intptr_t)dup(fd))) return -1;
  return pthread_detach(thread);
}
static int in_process(int fd) {
  if (fork() == 0) {
    sync_late((void *)(intptr_t)fd);
    _exit(0);
  }
  return 0;
}
static int by_mapping(int fd) {
  void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return 0;
  int result = msync(page, 4096, MS_SYNC);
  munmap(page, 4096);
  return result;
}

/* The last write. */
static struct { int fd; char bytes[70000]; size_t size; off_t at; } last;
static int write_again(int fd) {
  int result = real_sync(fd);
  if (last.fd == fd && last.size) real_write(fd, last.bytes, last.size, last.at);
  return result;
}

static int sync_of(int fd) {
  static int count;
  count++;
  if (is("nothing")) return 0;
  if (is("synced-writes") && is_journal(fd)) return 0;
  if (is("no-folder")) return is_folder(fd) ? 0 : real_sync(fd);
  if (is("folder-before-change")) return is_folder(fd) ? 0 : real_sync(fd);
  if (is_folder(fd)) return real_sync(fd);
  if (is("scratch-outside")) { static int other; if (!other) other = open("/tmp", O_TMPFILE | O_RDWR, 0600); return real_sync(other); }
  if (is("scratch-inside")) return sync_other(fd, "scratch", O_CREAT | O_RDWR);
  if (is("folder-for-file")) return sync_other(fd, NULL, O_RDONLY | O_DIRECTORY);
  if (is("other-database")) return sync_other(fd, "delete", O_RDWR);
  if (is("write-after")) return write_again(fd);
  if (is("mixed")) return count % 7 ? real_sync(fd) : sync_other(fd, "scratch", O_CREAT | O_RDWR);
  if (is("stops")) return count > 200 ? 0 : real_sync(fd);
  if (is("every-second")) return count % 2 ? 0 : real_sync(fd);
  if (is("honest-if-traced")) return is_traced() ? real_sync(fd) : 0;
  if (is("range")) return (int)syscall(SYS_sync_file_range, fd, 0, 0, 7);
  if (is("msync")) return by_mapping(fd);
  if (is("journals-only")) return is_journal(fd) ? real_sync(fd) : 0;
  if (is("databases-only")) return is_journal(fd) ? 0 : real_sync(fd);
  if (is("before-write")) return 0;
  if (is("late-thread")) return in_thread(fd);
  if (is("late-process")) return in_process(fd);
  if (is("failing")) { real_sync(-1); return 0; }
  if (is("mapped-writes")) return 0;
  if (is("io-uring")) { char none[120] = {0}; syscall(SYS_io_uring_setup, 1, none); return 0; }
  return real_sync(fd);
}
int fsync(int fd) { return sync_of(fd); }
int fdatasync(int fd) { return sync_of(fd); }

static ssize_t write_mapped(int fd, const void *bytes, size_t size, off_t at) {
  struct stat found;
  off_t from = at & ~(off_t)4095;
  if (fstat(fd, &found) == 0 && found.st_size < at + (off_t)size) ftruncate(fd, at + size);
  char *pages = mmap(NULL, at - from + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, from);
  if (pages == MAP_FAILED) return -1;
  memcpy(pages + (at - from), bytes, size);
  munmap(pages, at - from + size);
  return size;
}
static ssize_t write_at(int fd, const void *bytes, size_t size, off_t at) {
  if (is("before-write")) real_sync(fd);
  if (is("mapped-writes")) return write_mapped(fd, bytes, size, at);
  if (is("write-after") && size <= sizeof last.bytes) {
    last.fd = fd; last.size = size; last.at = at;
    memcpy(last.bytes, bytes, size);
  }
  return real_write(fd, bytes, size, at);
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) { return write_at(fd, bytes, size, at); }
ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t at) { return write_at(fd, bytes, size, at); }
ssize_t write(int fd, const void *bytes, size_t size) {
  struct stat found;
  off_t at = lseek(fd, 0, SEEK_CUR);
  if (at < 0 || fstat(fd, &found) || !S_ISREG(found.st_mode)) return syscall(SYS_write, fd, bytes, size);
  ssize_t written = write_at(fd, bytes, size, at);
  if (written > 0) lseek(fd, written, SEEK_CUR);
  return written;
}

/* Honest: each write is a sync. Only databases get another one, because their size changes without a write. */
int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  int mode = va_arg(more, int);
  va_end(more);
  if (is("synced-writes") && !(flags & O_DIRECTORY) && (flags & O_ACCMODE) != O_RDONLY) flags |= O_DSYNC;
  return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  int mode = va_arg(more, int);
  va_end(more);
  return open(path, flags, mode);
}

int unlink(const char *path) {
  if (is("folder-before-change")) {
    char folder[4200];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) { *slash = 0; int fd = open(folder, O_RDONLY | O_DIRECTORY); if (fd >= 0) { real_sync(fd); close(fd); } }
  }
  return (int)syscall(SYS_unlink, path);
}
