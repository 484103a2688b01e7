/* Connections, and what SQLite calls while their statements run.
**
** A statement is two records: BEGIN with its values when it starts, END with what it did. The callbacks of
** a connection run while SQLite holds its mutex, so a connection's state needs no lock of its own. */
#include "recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EVENTS (SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE | SQLITE_TRACE_ROW | SQLITE_TRACE_CLOSE)
#define BUCKETS 256

static struct connection *buckets[BUCKETS];

/* Whether this thread is inside a call that the recorder itself has made. */
THREAD_LOCAL bool own_work;

bool is_own_work(void) { return own_work; }
void set_own_work(bool is) { own_work = is; }

static int on_event(unsigned, void *, void *, void *);
/* --- Callbacks that the program sets itself --- */

static void *pointer_at(sqlite3 *db, int offset) {
  void *it;
  memcpy(&it, (const char *)db + offset, sizeof it);
  return it;
}

static bool knows_trace(const struct shape *shape) {
  return shape->trace >= 0 && shape->trace_argument >= 0 && shape->trace_mask >= 0;
}

static bool knows_commit(const struct shape *shape) { return shape->commit >= 0 && shape->commit_argument >= 0; }

static bool is_traced(const struct connection *it) {
  return pointer_at(it->db, it->library->shape.trace) == (void *)on_event;
}

/* Whether a statement is being prepared: virtual tables read their tables meanwhile, when they are first used. */
static bool is_preparing(const struct connection *it) {
  int parser = it->library->shape.parser;
  return parser >= 0 && pointer_at(it->db, parser);
}

/* The legacy sqlite3_trace() has another signature, and this bit in the mask. */
#define LEGACY_MASK 0x40
/* The legacy sqlite3_profile(), which trace_v2() switches off. */
#define PROFILE_MASK 0x80

/* Puts the recorder before a callback that the program has set in its stead, just now or some statements ago. */
static void chain_trace(struct connection *it, bool just_now) {
  const struct shape *shape = &it->library->shape;
  if (!knows_trace(shape)) return;
  uint8_t mask = ((const uint8_t *)it->db)[shape->trace_mask];
  void *callback = pointer_at(it->db, shape->trace), *argument = pointer_at(it->db, shape->trace_argument);
  /* Another thread may have put the recorder there just now: it must not call itself. */
  if (callback == (void *)on_event || argument == it) return;
  if (!just_now && !it->replaced) note(NOTE_REPLACED, it->library->path);
  it->replaced |= !just_now;
  bool is_legacy = callback && (mask & LEGACY_MASK);
  it->user_mask = callback && !is_legacy ? mask & 15 : 0;
  it->user_trace = (int (*)(unsigned, void *, void *, void *))callback;
  it->user_legacy = is_legacy ? (void (*)(void *, const char *))callback : NULL;
  it->user_trace_argument = argument;
  it->library->trace_v2(it->db, EVENTS, on_event, it);
  ((uint8_t *)it->db)[shape->trace_mask] |= mask & PROFILE_MASK;
}

/* The legacy callback has the statement with its values, or the comment that stands for one of a trigger. */
static void call_legacy(struct connection *it, sqlite3_stmt *statement, const char *sql) {
  char *expanded = strncmp(sql, "--", 2) == 0 ? NULL : it->library->expanded_sql(statement);
  it->user_legacy(it->user_trace_argument, expanded ? expanded : sql);
  it->library->free(expanded);
}

/* The same for the commit hook. */
static void chain_commit(struct connection *it) {
  const struct shape *shape = &it->library->shape;
  if (!knows_commit(shape) || (it->commit && pointer_at(it->db, shape->commit) == (void *)it->commit)) return;
  if (!takes_hook(it)) return;
  it->user_commit = (int (*)(void *))pointer_at(it->db, shape->commit);
  it->library->commit_hook(it->db, it->commit, pointer_at(it->db, shape->commit_argument));
}

/* Has the program's commit hook alone again, where that is known. */
static void unchain_commit(struct connection *it) {
  const struct shape *shape = &it->library->shape;
  if (!it->commit || !knows_commit(shape)) return;
  if (pointer_at(it->db, shape->commit) == (void *)it->commit)
    it->library->commit_hook(it->db, it->user_commit, pointer_at(it->db, shape->commit_argument));
  leave_hook(it);
}

/* --- Waits for locks --- */

static bool knows_waits(const struct library *library) {
  return library->shape.busy >= 0 && library->shape.busy_argument >= 0;
}

/* Some versions pass the file that is locked, too. */
static int on_busy(void *context, int count, void *file) {
  struct connection *it = context;
  uint64_t began = now();
  int again = it->user_busy(it->user_busy_argument, count, file);
  uint64_t passed = now() - began;
  it->waited += passed;
  /* Other statements that are open have not waited. */
  for (int i = 0; i < it->open; i++)
    if (i != it->latest) it->statements[i].waited += passed;
  return again;
}

/* Puts pointers where a connection has the callback for locks. SQLite's function would reset the timeout. */
static void set_busy(struct connection *it, int (*handler)(void *, int, void *), void *argument) {
  memcpy((char *)it->db + it->library->shape.busy, &handler, sizeof handler);
  memcpy((char *)it->db + it->library->shape.busy_argument, &argument, sizeof argument);
}

/* Measures the time that the callback takes which the program has set, or SQLite for a timeout. */
static void chain_busy(struct connection *it) {
  if (!knows_waits(it->library)) return;
  void *handler = pointer_at(it->db, it->library->shape.busy);
  if (!handler || handler == (void *)on_busy) return;
  it->user_busy = (int (*)(void *, int, void *))handler;
  it->user_busy_argument = pointer_at(it->db, it->library->shape.busy_argument);
  set_busy(it, on_busy, it);
}

static void unchain_busy(struct connection *it) {
  if (!knows_waits(it->library) || pointer_at(it->db, it->library->shape.busy) != (void *)on_busy) return;
  set_busy(it, it->user_busy, it->user_busy_argument);
}

/* --- Records of a connection --- */

static void write_library(struct connection *it) {
  struct library *library = it->library;
  if (library->announced == process.generation) return;
  const char *version = library->libversion(), *source = library->sourceid();
  uint8_t *at = reserve(&it->writer, 64 + strlen(version) + strlen(source) + strlen(library->path));
  if (!at) return;
  *at++ = RECORD_LIBRARY;
  at = put(at, (uint64_t)library->number);
  at = put(at, library->door);
  at = put(at, (library->shape.parameters >= 0 ? LIBRARY_EXACT : 0) |
                   (library->shape.result >= 0 ? LIBRARY_RESULTS : 0) |
                   (knows_trace(&library->shape) && knows_commit(&library->shape) ? LIBRARY_CHAINS : 0));
  at = put_bytes(at, version, strlen(version));
  at = put_bytes(at, source, strlen(source));
  publish(&it->writer, put_bytes(at, library->path, strlen(library->path)));
  library->announced = process.generation;
}

/* Whether connections that use the VFS "memdb" share the database of this name. */
static bool is_shared_name(const struct library *library, const char *file) {
  return library->libversion_number() >= 3036000 && (*file == '/' || *file == '\\') && file[1];
}

/* What the database of a connection is known by while it is open, if it is in memory: its pager's file, which connections
** with a shared cache have in common, or its name in the VFS "memdb". */
static uintptr_t memory_of(struct connection *it, const char *file, const char *vfs) {
  static const uint64_t key[2] = {1, 2};
  if (strcmp(vfs, "memdb") == 0)
    return is_shared_name(it->library, file) ? (uintptr_t)keyed_hash(key, file, strlen(file)) | 1 : 0;
  void *pager = NULL;
  if (!*file) it->library->file_control(it->db, "main", SQLITE_FCNTL_FILE_POINTER, &pager);
  return (uintptr_t)pager;
}

/* Whether a connection is still open. Of one whose callback the program has replaced, it is not known. */
static bool is_open(const struct connection *it) {
  const struct shape *shape = &it->library->shape;
  if (it->closed || it->writer.generation != process.generation || !knows_trace(shape)) return false;
  return pointer_if_readable((const char *)it->db + shape->trace) == (void *)on_event;
}

/* Finds the connection that opened the same database in memory, as far as one that shares it is still open. */
static void find_shared(struct connection *it, const char *file, const char *vfs) {
  uintptr_t memory = memory_of(it, file, vfs);
  pthread_mutex_lock(&process.lock);
  it->memory_of = it->writer.connection;
  for (int i = 0; memory && i < BUCKETS; i++)
    for (struct connection *other = buckets[i]; other; other = other->next) {
      bool is_same = other != it && other->library == it->library && other->memory == memory;
      if (is_same && is_open(other)) it->memory_of = other->memory_of;
    }
  it->memory = memory;
  pthread_mutex_unlock(&process.lock);
}

/* The name of a VFS: that of "memdb" comes with an address and a size. */
static const char *vfs_name(const char *vfs) {
  if (!vfs) return "";
  return strncmp(vfs, "memdb(", 6) == 0 ? "memdb" : vfs;
}

static void write_connection(struct connection *it, unsigned flags) {
  const char *file = it->library->db_filename(it->db, "main");
  char *answer = NULL;
  it->library->file_control(it->db, "main", SQLITE_FCNTL_VFSNAME, &answer);
  const char *vfs = vfs_name(answer);
  file = file ? file : "";
  if (flags & CONNECTION_INHERITED) it->memory = 0;
  else find_shared(it, file, vfs);
  if (it->memory && it->memory_of != it->writer.connection) flags |= CONNECTION_SHARED;
  uint8_t *at = reserve(&it->writer, 64 + strlen(file) + strlen(vfs));
  if (at) {
    *at++ = RECORD_CONNECTION;
    at = put(at, it->writer.connection);
    at = put(at, it->writer.time = now());
    at = put(at, (uint64_t)it->library->number);
    at = put(at, flags | (it->library->db_readonly(it->db, "main") == 1 ? CONNECTION_READONLY : 0));
    at = put_bytes(at, file, strlen(file));
    at = put_bytes(at, vfs, strlen(vfs));
    if (flags & CONNECTION_SHARED) at = put(at, it->memory_of);
    publish(&it->writer, at);
  }
  it->library->free(answer);
}

/* Numbers a connection and writes what it is. */
static void announce(struct connection *it, unsigned flags) {
  it->writer = taken_spare(__atomic_add_fetch(&process.header->next_connection, 1, __ATOMIC_RELAXED));
  it->writer.generation = process.generation;
  write_library(it);
  write_connection(it, flags);
}

/* A connection that a fork took along is another connection of another process. */
static void check_fork(struct connection *it) {
  if (it->writer.generation == process.generation) return;
  it->open = 0;
  forget_cached(it);
  announce(it, CONNECTION_INHERITED);
}

/* --- Statements --- */

static struct open_statement *open_of(struct connection *it, const sqlite3_stmt *statement) {
  if (it->latest < it->open && it->statements[it->latest].statement == statement)
    return &it->statements[it->latest];
  for (int i = 0; i < it->open; i++)
    if (it->statements[i].statement == statement) return it->latest = i, &it->statements[i];
  return NULL;
}

/* A free place, or that of a statement that was not run again; -1 if there are too many open statements. */
static int free_place(struct connection *it) {
  for (int i = 0; i < it->open; i++)
    if (!it->statements[i].statement) return i;
  if (it->open < OPEN_STATEMENTS) return it->open++;
  for (int i = 0; i < it->open; i++)
    if (it->statements[i].again) return i;
  return -1;
}

static int counter(const struct connection *it, sqlite3_stmt *statement, int which) {
  return it->library->stmt_status(statement, which, 0);
}

/* The kind of a record with the place of its statement, in one byte where it fits. */
static uint8_t *put_kind(uint8_t *at, enum record kind, int place) {
  *at++ = (uint8_t)(kind | ((place < 15 ? place : 15) << 4));
  return place < 15 ? at : put(at, (uint64_t)place);
}

/* The result code of a statement, -1 where it is not known. */
static int result_of(const struct connection *it, const sqlite3_stmt *statement) {
  int result = -1, offset = it->library->shape.result;
  if (offset >= 0) memcpy(&result, (const char *)statement + offset, sizeof result);
  return result;
}

static void write_end(struct connection *it, struct open_statement *open, bool known) {
  sqlite3_stmt *statement = open->statement;
  struct library *library = it->library;
  uint8_t *at = reserve(&it->writer, 128);
  if (!at) return;
  int result = known ? result_of(it, statement) : -1;
  if (result == SQLITE_ROW || result == SQLITE_DONE) result = SQLITE_OK;
  int changes = library->total_changes(it->db);
  int scans = known ? counter(it, statement, SQLITE_STMTSTATUS_FULLSCAN_STEP) - open->scans : 0;
  int sorts = known ? counter(it, statement, SQLITE_STMTSTATUS_SORT) - open->sorts : 0;
  int indexes = known ? counter(it, statement, SQLITE_STMTSTATUS_AUTOINDEX) - open->indexes : 0;
  int steps = known ? counter(it, statement, SQLITE_STMTSTATUS_VM_STEP) - open->steps : 0;
  int transaction = library->txn_state ? library->txn_state(it->db, NULL) & 3 : 3;
  bool scanned = scans > 0 || sorts > 0 || indexes > 0;
  uint64_t waited = it->waited - open->waited;
  at = put_kind(at, RECORD_END, (int)(open - it->statements));
  at = put_time(at, &it->writer);
  at = put(at, (unsigned)((library->get_autocommit(it->db) ? END_AUTOCOMMIT : 0) | transaction << 1 |
                          (known && library->stmt_busy(statement) ? END_EARLY : 0) |
                          (result > 0 ? END_RESULT : 0) | (changes != it->changes ? END_CHANGES : 0) |
                          (scanned ? END_SCANS : 0) | (waited ? END_WAITED : 0) |
                          (result < 0 ? END_UNKNOWN : 0) | (knows_waits(library) ? 0 : END_NO_WAITS)));
  at = put(at, open->rows);
  at = put(at, steps > 0 ? (uint64_t)steps : 0);
  if (result > 0) at = put(at, (uint64_t)result);
  if (changes != it->changes) at = put(at, (uint32_t)(changes - it->changes));
  if (scanned) {
    at = put(at, (uint64_t)(scans > 0 ? scans : 0));
    at = put(at, (uint64_t)(sorts > 0 ? sorts : 0));
    at = put(at, (uint64_t)(indexes > 0 ? indexes : 0));
  }
  if (waited) at = put(at, waited);
  it->changes = changes;
  publish(&it->writer, at);
}

static void write_begin(struct connection *it, sqlite3_stmt *statement, const char *sql, int place) {
  uint32_t id = text_id(it, statement, sql);
  bool hides = !id && hides_text(it);
  char *hidden = hides ? hidden_text(it, sql) : NULL;
  const char *written = hidden ? hidden : hides ? "" : sql;
  size_t text_length = id ? 0 : strlen(written);
  bool has_values = process.header->redact != REDACT_VALUES;
  int count = has_values ? it->library->bind_parameter_count(statement) : 0;
  char *expanded;
  size_t bound = values_bound(it, statement, count, &expanded);
  uint8_t *at = reserve(&it->writer, 64 + text_length + bound);
  if (at) {
    at = put_kind(at, RECORD_BEGIN, place);
    at = put_time(at, &it->writer);
    at = put(at, id);
    if (!id) at = put_bytes(at, written, text_length);
    *at++ = (uint8_t)((counter(it, statement, SQLITE_STMTSTATUS_RUN) == 0 ? BEGIN_PREPARED : 0) |
                      (count > 0 ? BEGIN_VALUES : 0));
    if (count > 0) at = put_values(at, it, statement, count, expanded);
    publish(&it->writer, at);
  }
  it->library->free(expanded);
  free(hidden);
}

/* A statement that is reset before its last row, such as INSERT with RETURNING, ends before SQLite counts what it
** changed. */
static void write_late_changes(struct connection *it) {
  it->late = false;
  int changes = it->library->total_changes(it->db);
  uint8_t *at = changes == it->changes ? NULL : reserve(&it->writer, 16);
  if (!at) return;
  *at++ = RECORD_CHANGES;
  publish(&it->writer, put(at, (uint32_t)(changes - it->changes)));
  it->changes = changes;
}

/* Whether the beginning is that of an action of a foreign key, which SQLite announces with the text of the statement that runs.
** What a statement has run counts as its steps when it returns, so a statement that began and has no more steps still runs.
** One that never began has the address of one whose end SQLite does not announce: sqlite3_exec() stopped by its callback. */
static bool is_action(struct connection *it, sqlite3_stmt *statement) {
  const struct open_statement *open = open_of(it, statement);
  return open && !open->again && counter(it, statement, SQLITE_STMTSTATUS_RUN) > 0 &&
         counter(it, statement, SQLITE_STMTSTATUS_VM_STEP) == open->steps;
}

static void on_begin(struct connection *it, sqlite3_stmt *statement, const char *sql) {
  if (is_action(it, statement)) return;
  chain_commit(it);
  chain_busy(it);
  if (it->late) write_late_changes(it);
  struct open_statement *stale = open_of(it, statement);
  if (stale) {
    if (!stale->again) write_end(it, stale, false);
    stale->statement = NULL;
  }
  write_late_changes(it);
  if (!it->secret && sets_key(sql)) {
    it->secret = true;
    forget_cached(it);
    note(NOTE_SECRET, it->library->db_filename(it->db, "main") ? it->library->db_filename(it->db, "main") : "");
  }
  int place = free_place(it);
  if (place < 0) {
    __atomic_fetch_or(&process.header->lost, LOST_STATEMENTS, __ATOMIC_RELAXED);
    return;
  }
  struct open_statement *open = &it->statements[place];
  *open = (struct open_statement){.statement = statement,
                                  .waited = it->waited,
                                  .steps = counter(it, statement, SQLITE_STMTSTATUS_VM_STEP),
                                  .scans = counter(it, statement, SQLITE_STMTSTATUS_FULLSCAN_STEP),
                                  .sorts = counter(it, statement, SQLITE_STMTSTATUS_SORT),
                                  .indexes = counter(it, statement, SQLITE_STMTSTATUS_AUTOINDEX)};
  it->latest = place;
  it->ran = true;
  write_begin(it, statement, sql, place);
}

/* Another statement, within one, has the address of one that was not run again. */
static void forget_again(struct connection *it, sqlite3_stmt *statement) {
  struct open_statement *open = open_of(it, statement);
  if (open && open->again) open->statement = NULL;
}

static void on_end(struct connection *it, sqlite3_stmt *statement) {
  struct open_statement *open = open_of(it, statement);
  if (!open) return;
  /* If it runs again, a second end follows, which replaces this one. */
  open->again = (result_of(it, statement) & 0xff) == SQLITE_SCHEMA;
  bool reads = it->library->stmt_readonly(statement);
  if (it->late && reads) write_late_changes(it);
  write_end(it, open, true);
  it->late = !reads && it->library->stmt_busy(statement);
  if (open->again) return;
  open->statement = NULL;
  while (it->open > 0 && !it->statements[it->open - 1].statement) it->open--;
  const char *sql = it->library->sql(statement);
  if (sql && is_attach(sql)) snapshot_attached(it);
}

/* --- The settings in force at the end --- */

static void write_setting(struct connection *it, const char *name, const char *value) {
  uint8_t *at = reserve(&it->writer, 32 + strlen(name) + strlen(value));
  if (!at) return;
  *at++ = RECORD_SETTING;
  at = put_bytes(at, name, strlen(name));
  publish(&it->writer, put_bytes(at, value, strlen(value)));
}

static void read_setting(struct connection *it, const char *name) {
  char sql[64] = "PRAGMA ";
  sqlite3_stmt *statement;
  strcat(sql, name);
  if (it->library->prepare_v2(it->db, sql, -1, &statement, NULL) != SQLITE_OK) return;
  if (it->library->step(statement) == SQLITE_ROW) {
    const char *value = (const char *)it->library->column_text(statement, 0);
    if (value) write_setting(it, name, value);
  }
  it->library->finalize(statement);
}

/* Writes the size of the write-ahead log; that of a rollback journal says nothing. */
static void write_log_size(struct connection *it) {
  sqlite3_file *log = NULL;
  sqlite3_int64 bytes = 0;
  char text[24];
  if (it->library->file_control(it->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) != SQLITE_OK) return;
  if (!log || !log->pMethods || log->pMethods->xFileSize(log, &bytes) != SQLITE_OK || bytes <= 0) return;
  snprintf(text, sizeof text, "%lld", (long long)bytes);
  write_setting(it, "log_bytes", text);
}

/* Takes a callback out of a connection, or puts it back; it has none where its library has no such callbacks. */
static void exchange(struct connection *it, int offset, void **callback) {
  if (offset < 0) return;
  void *former = pointer_at(it->db, offset);
  memcpy((char *)it->db + offset, callback, sizeof former);
  *callback = former;
}

/* The same for those that see each statement of a connection. Python frees what its own ones need before it closes the
** connection. */
static void exchange_guards(struct connection *it, void *guards[2]) {
  exchange(it, it->library->shape.authorizer, &guards[0]);
  exchange(it, it->library->shape.progress, &guards[1]);
}

/* Whether the recorder can execute a statement that the program's callbacks do not see. */
static bool is_unguarded(const struct library *library) {
  return (!library->set_authorizer || library->shape.authorizer >= 0) &&
         (!library->progress_handler || library->shape.progress >= 0);
}

/* Reads back settings, of a connection that has used its database: reading them would otherwise open it. */
static void read_settings(struct connection *it) {
  static const char *const names[] = {"busy_timeout", "synchronous",  "journal_mode", "cache_size",
                                      "foreign_keys", "temp_store",   "mmap_size",    "wal_autocheckpoint",
                                      "page_size",    "auto_vacuum",  "locking_mode", "encoding"};
  void *guards[2] = {NULL, NULL};
  if (!it->ran || it->secret || it->writer.generation != process.generation || !is_unguarded(it->library)) return;
  set_own_work(true);
  exchange_guards(it, guards);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) read_setting(it, names[i]);
  write_log_size(it);
  exchange_guards(it, guards);
  set_own_work(false);
}

static void on_close(struct connection *it) {
  if (it->closed) return;
  write_late_changes(it);
  read_settings(it);
  uint8_t *at = reserve(&it->writer, 16);
  if (at) {
    *at++ = RECORD_CLOSE;
    publish(&it->writer, put_time(at, &it->writer));
  }
  it->closed = true;
  unchain_commit(it);
  unchain_busy(it);
  free(it->cache);
  it->cache = NULL;
  release(&it->writer);
}

/* --- What SQLite calls --- */

static void record_event(struct connection *it, unsigned event, void *statement, const char *sql) {
  if (event == SQLITE_TRACE_ROW) {
    struct open_statement *open = open_of(it, statement);
    if (open) open->rows++;
    if (it->late) write_late_changes(it);
    return;
  }
  /* sqlite3_close() may refuse, and statements may outlive sqlite3_close_v2(). */
  if (it->closed && event == SQLITE_TRACE_STMT) it->closed = false;
  check_fork(it);
  if (event == SQLITE_TRACE_CLOSE) on_close(it);
  if (event == SQLITE_TRACE_PROFILE) on_end(it, statement);
  /* Statements within statements, of triggers and of FTS5, come with a text made for the callback. */
  bool is_own = event == SQLITE_TRACE_STMT && sql == it->library->sql(statement);
  if (is_own && !is_preparing(it)) on_begin(it, statement, sql);
  else if (event == SQLITE_TRACE_STMT) forget_again(it, statement);
}

static int on_event(unsigned event, void *context, void *p, void *x) {
  struct connection *it = context;
  /* The program knows nothing of the recorder's statements, and when it closes a connection, its callback's data may be gone. */
  if (own_work) return 0;
  if (process.active) record_event(it, event, p, x);
  if (it->user_legacy && event == SQLITE_TRACE_STMT) call_legacy(it, p, x);
  if (it->user_trace && (it->user_mask & event)) return it->user_trace(event, it->user_trace_argument, p, x);
  return 0;
}

/* Runs while the write lock is held, so the tickets have the order of the commits of all processes. */
int on_commit(struct connection *it, void *argument) {
  if (process.active && !own_work) {
    check_fork(it);
    uint8_t *at = reserve(&it->writer, 32);
    if (at) {
      *at++ = RECORD_COMMIT;
      at = put_time(at, &it->writer);
      at = put(at, __atomic_add_fetch(&process.header->next_ticket, 1, __ATOMIC_ACQ_REL));
      publish(&it->writer, at);
    }
    chain_trace(it, false);
  }
  return it->user_commit ? it->user_commit(argument) : 0;
}

/* --- Attaching --- */

/* The state for a connection, made if it is wanted; a new connection may have the address of one that is gone. */
static struct connection *connection_of(sqlite3 *db, bool is_wanted) {
  struct connection **bucket = &buckets[((uintptr_t)db >> 6) % BUCKETS];
  pthread_mutex_lock(&process.lock);
  struct connection *it = *bucket;
  while (it && it->db != db) it = it->next;
  if (!it && is_wanted && (it = calloc(1, sizeof *it))) {
    it->next = *bucket;
    it->db = db;
    *bucket = it;
  }
  pthread_mutex_unlock(&process.lock);
  return it;
}

static void reset(struct connection *it) {
  struct connection *next = it->next;
  sqlite3 *db = it->db;
  if (!it->closed) release(&it->writer);
  leave_hook(it);
  free(it->cache);
  memset(it, 0, sizeof *it);
  it->next = next;
  it->db = db;
}

/* Records a connection from here on. */
void attach(sqlite3 *db, struct library *library) {
  library->in_use = true;
  struct connection *it = connection_of(db, true);
  if (!it) return stop(LOST_MEMORY);
  /* A library loaded as an extension may find the connection recorded already. */
  if (it->library && knows_trace(&library->shape) && is_traced(it) && !it->closed) return;
  if (it->library == library) unchain_busy(it);
  reset(it);
  it->library = library;
  const char *file = library->db_filename(db, "main");
  announce(it, 0);
  if (file && *file) snapshot(it, file);
  it->changes = library->total_changes(db);
  library->trace_v2(db, EVENTS, on_event, it);
  chain_commit(it);
  if (!knows_commit(&library->shape) && takes_hook(it)) library->commit_hook(db, it->commit, NULL);
}

/* Whether a program has replaced the recorder's callback on a connection that, for that reason, may be gone. */
static bool is_replaced(const struct connection *it) {
  if (it->closed || !it->library || it->writer.generation != process.generation) return false;
  return knows_trace(&it->library->shape) && !is_open(it);
}

/* At the end of the process: marks connections of which statements were not recorded. */
void check_connections(void) {
  for (int i = 0; i < BUCKETS; i++)
    for (struct connection *it = buckets[i]; it; it = it->next)
      if (is_replaced(it)) note(NOTE_REPLACED, it->library->path);
}

/* --- Functions by which a program replaces the recorder's callback --- */

/* Each has a name of its own, because the exported one means the program's where it exports that, too. */

/* Puts the recorder back at once if the program calls its library through the dynamic linker; otherwise the next commit does. */
static void chain_at_once(struct connection *it) {
  if (process.active && !own_work && it && it->library && !it->closed) chain_trace(it, true);
}

typedef int tracer(unsigned, void *, void *, void *);
typedef void legacy_tracer(void *, const char *);

int trace_in_place(sqlite3 *db, unsigned mask, tracer *callback, void *argument) {
  struct connection *it = connection_of(db, false);
  int (*real)(sqlite3 *, unsigned, tracer *, void *) = (int (*)(sqlite3 *, unsigned, tracer *, void *))real_function(
      __builtin_return_address(0), "sqlite3_trace_v2", (const void *)trace_in_place);
  if (!real && it && it->library) real = it->library->trace_v2;
  int result = real ? real(db, mask, callback, argument) : SQLITE_MISUSE;
  chain_at_once(it);
  return result;
}

EXPORTED int sqlite3_trace_v2(sqlite3 *, unsigned, tracer *, void *) __attribute__((alias("trace_in_place")));

static __attribute__((used)) void *legacy_in_place(sqlite3 *db, legacy_tracer *callback, void *argument) {
  void *(*real)(sqlite3 *, legacy_tracer *, void *) = (void *(*)(sqlite3 *, legacy_tracer *, void *))real_function(
      __builtin_return_address(0), "sqlite3_trace", (const void *)legacy_in_place);
  void *former = real ? real(db, callback, argument) : NULL;
  chain_at_once(connection_of(db, false));
  return former;
}

EXPORTED void *sqlite3_trace(sqlite3 *, legacy_tracer *, void *) __attribute__((alias("legacy_in_place")));
