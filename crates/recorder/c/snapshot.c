/* A copy of each database as it was before the program's first statement, by the backup interface of the
** program's own library: a raw copy would drop the locks that the process holds on the file. */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

/* How long a process waits for the snapshot that another one takes, in steps of 5 ms. */
#define PATIENCE 6000

/* How often a copy is tried, for two seconds each, where a program that is not recorded has locks. */
#define ATTEMPTS 3

enum { FREE = 0, TAKING = 1, TAKEN = 2 };

static uint64_t *entries(void) { return (uint64_t *)((char *)process.header + SNAPSHOT_TABLE); }

/* The process that takes the snapshot of an entry. */
static int32_t *taker_of(const uint64_t *entry) {
  return (int32_t *)((char *)process.header + SNAPSHOT_TAKERS) + (entry - entries());
}

/* Which file it is, with the name or whatever its name: a new file may have the number of one that is gone, but was
** made later. The two lowest bits are for the state. */
static uint64_t key_of(const struct statx *file, const char *name) {
  const uint64_t number[2] = {file->stx_ino, (uint64_t)file->stx_dev_major << 32 | file->stx_dev_minor};
  char text[sizeof process.folder + 64];
  bool is_known = file->stx_mask & STATX_BTIME;
  int length = snprintf(text, sizeof text, "%lld %u %s", is_known ? (long long)file->stx_btime.tv_sec : 0,
                        is_known ? file->stx_btime.tv_nsec : 0, name);
  uint64_t key = keyed_hash(number, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
  return (key >> 2 ? key >> 2 : 1) << 2;
}

/* Whether a process has ended, also one whose end its parent has not seen yet. */
static bool has_ended(pid_t pid) {
  char name[32], text[512];
  if (pid <= 0) return false;
  if (kill(pid, 0) != 0) return errno == ESRCH;
  snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
  int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  ssize_t length = read(file, text, sizeof text - 1);
  close(file);
  text[length > 0 ? length : 0] = 0;
  const char *name_end = strrchr(text, ')');
  return name_end && (strncmp(name_end, ") Z", 3) == 0 || strncmp(name_end, ") X", 3) == 0);
}

/* From this wait on, a process that has not said which one it is counts as ended: it was killed in between. */
#define UNNAMED 200

/* Waits until a snapshot is taken; whether this process has to take it because the one that began has ended. */
static bool takes_over(uint64_t *entry) {
  struct timespec pause = {0, 5000000};
  int32_t *taker = taker_of(entry);
  for (int i = 0; i < PATIENCE && (__atomic_load_n(entry, __ATOMIC_ACQUIRE) & 3) == TAKING; i++) {
    int32_t pid = __atomic_load_n(taker, __ATOMIC_ACQUIRE);
    if ((has_ended(pid) || (pid == 0 && i >= UNNAMED)) &&
        __atomic_compare_exchange_n(taker, &pid, (int32_t)getpid(), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return true;
    nanosleep(&pause, NULL);
  }
  return false;
}

/* The entry of a database if this process has to take its snapshot. */
static uint64_t *claimed(uint64_t key) {
  for (size_t i = 0; i < SNAPSHOT_ENTRIES; i++) {
    uint64_t *entry = &entries()[(key / 4 + i) % SNAPSHOT_ENTRIES], free = FREE;
    if (__atomic_compare_exchange_n(entry, &free, key | TAKING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      int32_t nobody = 0;
      /* Another process may have taken over because this one was stopped for a second. */
      bool is_taker = __atomic_compare_exchange_n(taker_of(entry), &nobody, (int32_t)getpid(), false, __ATOMIC_ACQ_REL,
                                                  __ATOMIC_ACQUIRE);
      return is_taker || takes_over(entry) ? entry : NULL;
    }
    if ((free & ~(uint64_t)3) == key) return takes_over(entry) ? entry : NULL;
  }
  return NULL;
}

static void write_snapshot(struct connection *it, const char *file, enum snapshot_state state, uint32_t number,
                           const char *reason) {
  uint8_t *at = reserve(&it->writer, 64 + strlen(file) + strlen(reason));
  if (!at) return;
  *at++ = RECORD_SNAPSHOT;
  *at++ = (uint8_t)state;
  at = put(at, number);
  at = put_bytes(at, file, strlen(file));
  publish(&it->writer, put_bytes(at, reason, strlen(reason)));
}

/* Opens the program's database as the program does, but for reading where that is possible. */
static int open_source(struct connection *it, const char *file, sqlite3 **db) {
  const char *vfs = NULL;
  it->library->file_control(it->db, "main", SQLITE_FCNTL_VFSNAME, &vfs);
  /* The name may be a chain of shims such as "trace/unix", of which no part can be opened alone. */
  const char *name = vfs && !strchr(vfs, '/') ? vfs : NULL;
  int result = it->library->open_v2(file, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, name);
  it->library->free((void *)vfs);
  if (result == SQLITE_OK) it->library->busy_timeout(*db, 2000);
  return result;
}

/* Copies the database; returns SQLite's result code. */
static int copy(struct connection *it, const char *file, const char *target) {
  struct library *library = it->library;
  sqlite3 *from = NULL, *to = NULL;
  int result = open_source(it, file, &from);
  if (result == SQLITE_OK)
    result = library->open_v2(target, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
  if (result == SQLITE_OK) {
    library->exec(to, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL, NULL);
    sqlite3_backup *backup = library->backup_init(to, "main", from, "main");
    for (int i = 0; backup && i < ATTEMPTS; i++) {
      result = library->backup_step(backup, -1);
      if (result != SQLITE_BUSY && result != SQLITE_LOCKED) break;
    }
    if (backup) library->backup_finish(backup);
    result = backup && result == SQLITE_DONE ? SQLITE_OK : result ? result : SQLITE_ERROR;
  }
  library->close(from);
  library->close(to);
  return result;
}

/* Whether there is a journal or a log beside a database, which a copy without locks would pass over. */
static bool has_journal(const char *file) {
  const char *ends[] = {"-journal", "-wal"};
  char name[PATH_MAX + 16];
  for (size_t i = 0; i < 2; i++) {
    snprintf(name, sizeof name, "%s%s", file, ends[i]);
    if (access(name, F_OK) == 0) return true;
  }
  return false;
}

/* Copies a database in WAL mode in a directory where nobody may write, as programs read it with immutable=1: without locks
** and without a log. Without success, returns the first result. */
static int copy_immutable(struct connection *it, const char *file, const char *target, int result) {
  char uri[PATH_MAX + 32];
  /* SQLITE_READONLY_CANTINIT and SQLITE_READONLY_DIRECTORY, which are younger than some libraries. */
  bool is_refused = (result & 0xff) == SQLITE_CANTOPEN || result == (SQLITE_READONLY | 5 << 8) || result == (SQLITE_READONLY | 6 << 8);
  if (!is_refused || strlen(file) >= PATH_MAX || strpbrk(file, "?#%") || has_journal(file)) return result;
  snprintf(uri, sizeof uri, "file:%s?immutable=1", file);
  return copy(it, uri, target) == SQLITE_OK ? SQLITE_OK : result;
}

static void take(struct connection *it, const char *file) {
  char target[sizeof process.folder + 32], reason[32] = "";
  uint32_t number = __atomic_add_fetch(&process.header->next_snapshot, 1, __ATOMIC_RELAXED);
  snprintf(target, sizeof target, "%s/snapshot-%u", process.folder, number);
  set_own_work(true);
  int saved = errno, result = copy(it, file, target);
  if (result != SQLITE_OK) result = copy_immutable(it, file, target, result);
  errno = saved;
  set_own_work(false);
  if (result != SQLITE_OK) snprintf(reason, sizeof reason, "%d", result);
  write_snapshot(it, file, result == SQLITE_OK ? SNAPSHOT_TAKEN : SNAPSHOT_FAILED, number, reason);
}

static void mark_taken(uint64_t *entry) {
  __atomic_store_n(entry, (*entry & ~(uint64_t)3) | TAKEN, __ATOMIC_RELEASE);
}

/* A new database: each name is written once, because files that follow one another quickly are not told apart. */
static void snapshot_empty(struct connection *it, const char *file, const struct statx *status) {
  uint64_t *whole = claimed(key_of(status, "")), *entry = claimed(key_of(status, file));
  if (whole) mark_taken(whole);
  if (!entry) return;
  write_snapshot(it, file, SNAPSHOT_EMPTY, 0, "");
  mark_taken(entry);
}

static void snapshot_whole(struct connection *it, const char *file, const struct statx *status) {
  uint64_t *entry = claimed(key_of(status, ""));
  if (!entry) return;
  if (process.header->redact)
    write_snapshot(it, file, SNAPSHOT_SKIPPED, 0, "");
  else
    take(it, file);
  mark_taken(entry);
}

/* Whether there is a file, and which. By the kernel's call, since the C library has a function for it from glibc 2.28 on
** only; where the kernel is older than the call, or a container forbids it, without the time when the file was made. */
static bool look_at(const char *name, struct statx *file) {
  if (syscall(SYS_statx, AT_FDCWD, name, 0, STATX_BASIC_STATS | STATX_BTIME, file) == 0) return true;
  struct stat status;
  if ((errno != ENOSYS && errno != EPERM) || stat(name, &status) != 0) return false;
  *file = (struct statx){.stx_ino = status.st_ino,
                         .stx_dev_major = major(status.st_dev),
                         .stx_dev_minor = minor(status.st_dev),
                         .stx_size = (uint64_t)status.st_size};
  return true;
}

/* Writes which file has a name at this moment: programs delete files, and rename others over them. */
static void write_file(struct connection *it, const char *file, const struct statx *status) {
  uint8_t *at = reserve(&it->writer, 64 + strlen(file));
  if (!at) return;
  *at++ = RECORD_FILE;
  at = put(at, makedev(status->stx_dev_major, status->stx_dev_minor));
  at = put(at, status->stx_ino);
  at = put(at, (uint64_t)status->stx_btime.tv_sec * 1000000000 + status->stx_btime.tv_nsec);
  *at++ = status->stx_size == 0;
  publish(&it->writer, put_bytes(at, file, strlen(file)));
}

/* Takes the snapshot of a file that has none; waits where another process is taking it. */
void snapshot(struct connection *it, const char *file) {
  struct statx status;
  int saved = errno;
  bool is_there = process.active && look_at(file, &status);
  if (is_there) write_file(it, file, &status);
  if (is_there && status.stx_size == 0)
    snapshot_empty(it, file, &status);
  else if (is_there)
    snapshot_whole(it, file, &status);
  errno = saved;
}

/* The same for databases that a connection has attached. */
void snapshot_attached(struct connection *it) {
  struct library *library = it->library;
  if (!library->db_name || it->secret) return;
  const char *name;
  for (int i = 2; (name = library->db_name(it->db, i)); i++) {
    const char *file = library->db_filename(it->db, name);
    if (file && *file) snapshot(it, file);
  }
}
