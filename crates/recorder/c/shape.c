/* Where a library keeps what it has no function for: the values bound to a statement, a statement's
** result code in its last callback, the callbacks that a program has set, and whether it is preparing a statement.
**
** SQLite has functions that set these, but none that read them, and sqlite3_expanded_sql() is inexact (15
** digits of REALs, texts up to a NUL) and takes half of the time of a recording. So the recorder sets known
** values on statements and connections of its own and looks where they are. What is not where exactly one
** place explains all of them counts as not known, and is then recorded in the slower way or not at all.
** Memory is read through a pipe meanwhile, for which a bad address is an error and no signal. */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STATEMENT_BYTES 320
#define CONNECTION_BYTES 1024
#define VALUES_BYTES 1024

static const char text_value[] = "text\0value!";
static const char blob_value[] = "blob\0\1\2value!";
#define TEXT_LENGTH 11
#define BLOB_LENGTH 13
#define FIRST 0x1122334455667788
#define SECOND 0x0f1e2d3c4b5a6978
#define REAL 1.2345678901234567e89
#define ZEROS 12345

/* Of this thread, which opens it, reads memory through it and closes it again. */
THREAD_LOCAL int pipe_ends[2];

/* Copies memory that may not exist; returns how many bytes it could. */
static size_t peek(const void *from, void *to, size_t bytes) {
  ssize_t written = write(pipe_ends[1], from, bytes);
  if (written <= 0) return 0;
  ssize_t got = read(pipe_ends[0], to, (size_t)written);
  return got > 0 ? (size_t)got : 0;
}

static uint64_t word(const uint8_t *at) { uint64_t it; memcpy(&it, at, 8); return it; }
static uint32_t half(const uint8_t *at) { uint32_t it; memcpy(&it, at, 4); return it; }
static uint16_t quarter(const uint8_t *at) { uint16_t it; memcpy(&it, at, 2); return it; }

enum bound { INT1, INT2, REAL3, TEXT4, BLOB5, NULL6, ZERO7, POINTER8, BOUND };

/* The offset of the flags in a value, -1 if there is not exactly one that fits all values. */
static int flags_offset(const uint8_t *values, int stride) {
  static const uint16_t expected[BOUND] = {4, 4, 8, 2, 16, 1, 16, 1};
  int at = -1;
  for (int offset = 0; offset + 2 <= stride; offset += 2) {
    bool fits = true;
    for (int i = 0; i < BOUND && fits; i++) fits = (quarter(values + i * stride + offset) & 63) == expected[i];
    /* The byte after the flags is the encoding; 1 is UTF-8. */
    if (!fits || values[TEXT4 * stride + offset + 2] != 1) continue;
    if (at >= 0) return -1;
    at = offset;
  }
  return at;
}

/* The offset at which the text's and the blob's value are these, -1 if there is not exactly one. */
static int pair_offset(const uint8_t *values, int stride, uint64_t text, uint64_t blob, int size) {
  int at = -1;
  for (int offset = 0; offset + size <= stride; offset += size) {
    const uint8_t *first = values + TEXT4 * stride + offset, *second = values + BLOB5 * stride + offset;
    bool fits = size == 8 ? word(first) == text && word(second) == blob
                          : half(first) == (uint32_t)text && half(second) == (uint32_t)blob;
    if (!fits) continue;
    if (at >= 0) return -1;
    at = offset;
  }
  return at;
}

/* Fills in how values are laid out; false if these bytes are not the values. */
static bool is_layout(struct shape *shape, const uint8_t *values, int value, int stride) {
  double real = REAL;
  if (memcmp(values + REAL3 * stride + value, &real, 8) != 0) return false;
  shape->stride = stride;
  shape->value = value;
  shape->flags = flags_offset(values, stride);
  shape->bytes = pair_offset(values, stride, (uintptr_t)text_value, (uintptr_t)blob_value, 8);
  shape->length = pair_offset(values, stride, TEXT_LENGTH, BLOB_LENGTH, 4);
  if (shape->flags < 0 || shape->bytes < 0 || shape->length < 0) return false;
  uint16_t blob = quarter(values + BLOB5 * stride + shape->flags);
  uint16_t zero = quarter(values + ZERO7 * stride + shape->flags);
  uint16_t null = quarter(values + NULL6 * stride + shape->flags);
  shape->zero_flag = zero & (uint16_t)~blob;
  shape->pointer_flags = quarter(values + POINTER8 * stride + shape->flags) & (uint16_t)~null;
  return shape->zero_flag && half(values + ZERO7 * stride + value) == ZEROS;
}

static bool are_values(struct shape *shape, const uint8_t *values, size_t length) {
  for (int value = 0; value < 64; value += 8)
    for (int stride = 40; stride <= 96 && (size_t)(stride * BOUND) <= length; stride += 8)
      if (word(values + value) == FIRST && word(values + stride + value) == SECOND && value < stride)
        return is_layout(shape, values, value, stride);
  return false;
}

/* Marks the pointers in a statement that lead to the values bound to it. */
static void find_parameters(struct shape *shape, const uint8_t *statement, size_t length, bool *leads) {
  uint8_t values[VALUES_BYTES];
  for (int at = 0; (size_t)at + 8 <= length; at += 8) {
    size_t got = peek((const void *)(uintptr_t)word(statement + at), values, sizeof values);
    leads[at / 8] = got >= 40 * BOUND && are_values(shape, values, got);
  }
}

static void bind_all(struct library *library, sqlite3_stmt *statement) {
  library->bind_int64(statement, 1, FIRST);
  library->bind_int64(statement, 2, SECOND);
  library->bind_double(statement, 3, REAL);
  library->bind_text(statement, 4, text_value, TEXT_LENGTH, SQLITE_STATIC);
  library->bind_blob(statement, 5, blob_value, BLOB_LENGTH, SQLITE_STATIC);
  library->bind_zeroblob(statement, 7, ZEROS);
  if (library->bind_pointer) library->bind_pointer(statement, 8, (void *)text_value, "pragmark", NULL);
}

/* Unmarks the pointers that do not lead to the one value of another statement; how many are left. A second
** pointer leads to the values where SQLite had to allocate memory for them. */
static int narrow(struct library *library, sqlite3 *db, const char *sql, bool *leads) {
  sqlite3_stmt *statement;
  uint8_t copy[STATEMENT_BYTES] = {0}, first[8];
  int left = 0;
  if (library->prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK) return 0;
  library->bind_int64(statement, 1, SECOND);
  size_t length = peek(statement, copy, sizeof copy);
  for (int i = 0; i < STATEMENT_BYTES / 8; i++) {
    const uint8_t *values = (const uint8_t *)(uintptr_t)word(copy + i * 8);
    leads[i] = leads[i] && (size_t)i * 8 + 8 <= length &&
               peek(values + library->shape.value, first, 8) == 8 && word(first) == SECOND;
    left += leads[i];
  }
  library->finalize(statement);
  return left;
}

static void examine_values(struct library *library, sqlite3 *db) {
  static const char *const others[] = {
      "SELECT ?", "SELECT ? FROM sqlite_master",
      "SELECT type, count(*), max(name), ? FROM sqlite_master GROUP BY type ORDER BY 2, 1"};
  sqlite3_stmt *statement;
  uint8_t copy[STATEMENT_BYTES] = {0};
  bool leads[STATEMENT_BYTES / 8] = {false};
  if (library->prepare_v2(db, "SELECT ?,?,?,?,?,?,?,?", -1, &statement, NULL) != SQLITE_OK) return;
  bind_all(library, statement);
  find_parameters(&library->shape, copy, peek(statement, copy, sizeof copy), leads);
  library->finalize(statement);
  int left = 0;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) left = narrow(library, db, others[i], leads);
  for (int i = 0; left == 1 && i < STATEMENT_BYTES / 8; i++)
    if (leads[i]) library->shape.parameters = i * 8;
}

/* Statements as they are in the callback at their end. */
struct ends { int count; uint8_t copies[4][STATEMENT_BYTES]; size_t length; };

static int at_end(unsigned event, void *context, void *statement, void *unused) {
  struct ends *ends = context;
  (void)event, (void)unused;
  if (ends->count < 4) ends->length = peek(statement, ends->copies[ends->count++], STATEMENT_BYTES);
  return 0;
}

/* Where two statements that failed and one that did not have their result codes. */
static void examine_results(struct library *library, sqlite3 *db) {
  struct ends ends = {0};
  library->exec(db, "CREATE TABLE t(a NOT NULL, b UNIQUE)", NULL, NULL, NULL);
  if (library->trace_v2(db, SQLITE_TRACE_PROFILE, at_end, &ends) != SQLITE_OK) return;
  library->exec(db, "INSERT INTO t VALUES (1, 1)", NULL, NULL, NULL);
  library->exec(db, "INSERT INTO t VALUES (1, 1)", NULL, NULL, NULL);
  library->exec(db, "INSERT INTO t VALUES (NULL, 2)", NULL, NULL, NULL);
  library->trace_v2(db, 0, NULL, NULL);
  int found = -1, places = 0;
  for (int at = 0; ends.count == 3 && (size_t)at + 4 <= ends.length; at += 4) {
    uint32_t done = half(ends.copies[0] + at);
    if (half(ends.copies[1] + at) != SQLITE_CONSTRAINT_UNIQUE) continue;
    if (half(ends.copies[2] + at) != SQLITE_CONSTRAINT_NOTNULL) continue;
    if (done == SQLITE_OK || done == SQLITE_DONE) found = at, places++;
  }
  if (places == 1) library->shape.result = found;
}

static int offset_of(const uint8_t *memory, size_t length, const void *pointer) {
  int found = -1;
  for (int at = 0; (size_t)at + 8 <= length; at += 8) {
    if (word(memory + at) != (uintptr_t)pointer) continue;
    if (found >= 0) return -1;
    found = at;
  }
  return found;
}

static int mark_of_trace(unsigned event, void *context, void *p, void *x) {
  (void)event, (void)context, (void)p, (void)x;
  return 0;
}
static int mark_of_commit(void *context) { (void)context; return 0; }
static int mark_of_busy(void *context, int count) { (void)context, (void)count; return 0; }

static int mark_of_authorizer(void *context, int action, const char *a, const char *b, const char *c, const char *d) {
  (void)context, (void)action, (void)a, (void)b, (void)c, (void)d;
  return SQLITE_OK;
}
static int mark_of_progress(void *context) { (void)context; return 0; }

/* The byte that has the mask of the trace callback: another one with each of four masks. */
static int mask_offset(struct library *library, sqlite3 *db, void *argument) {
  static const uint8_t masks[4] = {1, 2, 7, 13};
  uint8_t memory[4][CONNECTION_BYTES];
  size_t length = CONNECTION_BYTES;
  for (int i = 0; i < 4; i++) {
    library->trace_v2(db, masks[i], mark_of_trace, argument);
    size_t got = peek(db, memory[i], CONNECTION_BYTES);
    if (got < length) length = got;
  }
  int found = -1;
  for (int at = 0; (size_t)at < length; at++) {
    bool fits = true;
    for (int i = 0; i < 4 && fits; i++) fits = memory[i][at] == masks[i];
    if (fits && found >= 0) return -1;
    if (fits) found = at;
  }
  return found;
}

/* Where a connection has the callbacks that a program sets. */
static void examine_callbacks(struct library *library, sqlite3 *db) {
  static char trace_mark, commit_mark;
  uint8_t memory[CONNECTION_BYTES];
  struct shape *shape = &library->shape;
  library->commit_hook(db, mark_of_commit, &commit_mark);
  shape->trace_mask = mask_offset(library, db, &trace_mark);
  size_t length = peek(db, memory, sizeof memory);
  shape->trace = offset_of(memory, length, (const void *)mark_of_trace);
  shape->trace_argument = offset_of(memory, length, &trace_mark);
  shape->commit = offset_of(memory, length, (const void *)mark_of_commit);
  shape->commit_argument = offset_of(memory, length, &commit_mark);
  library->trace_v2(db, 0, NULL, NULL);
  library->commit_hook(db, NULL, NULL);
}

/* Where a connection has the callbacks that could stop the recorder's own statements. */
static void examine_guards(struct library *library, sqlite3 *db) {
  uint8_t memory[CONNECTION_BYTES];
  if (library->set_authorizer) library->set_authorizer(db, mark_of_authorizer, NULL);
  if (library->progress_handler) library->progress_handler(db, 1000000, mark_of_progress, NULL);
  size_t length = peek(db, memory, sizeof memory);
  library->shape.authorizer = offset_of(memory, length, (const void *)mark_of_authorizer);
  library->shape.progress = offset_of(memory, length, (const void *)mark_of_progress);
  if (library->set_authorizer) library->set_authorizer(db, NULL, NULL);
  if (library->progress_handler) library->progress_handler(db, 0, NULL, NULL);
}

/* Whether the system makes connections wait for locks, of which SQLite's callback knows nothing. */
static bool waits_in_system(struct library *library, sqlite3 *db) {
  sqlite3_stmt *statement = NULL;
  bool is_so = true;
  library->prepare_v2(db, "SELECT sqlite_compileoption_used('ENABLE_SETLK_TIMEOUT')", -1, &statement, NULL);
  if (statement && library->step(statement) == SQLITE_ROW) {
    const char *answer = (const char *)library->column_text(statement, 0);
    is_so = !answer || *answer != '0';
  }
  library->finalize(statement);
  return is_so;
}

/* Where a connection has the callback that waits for locks. */
static void examine_waits(struct library *library, sqlite3 *db) {
  static char busy_mark;
  uint8_t memory[CONNECTION_BYTES];
  if (waits_in_system(library, db)) return;
  library->busy_handler(db, mark_of_busy, &busy_mark);
  size_t length = peek(db, memory, sizeof memory);
  library->shape.busy = offset_of(memory, length, (const void *)mark_of_busy);
  library->shape.busy_argument = offset_of(memory, length, &busy_mark);
  library->busy_handler(db, NULL, NULL);
}

/* A connection while it prepares a statement, and where the stack is meanwhile. */
struct preparing { uint8_t memory[CONNECTION_BYTES]; size_t length; uintptr_t stack; };

static void at_collation(void *context, sqlite3 *db, int encoding, const char *name) {
  struct preparing *it = context;
  (void)encoding, (void)name;
  it->length = peek(db, it->memory, sizeof it->memory);
  it->stack = (uintptr_t)__builtin_frame_address(0);
}

/* How far the parser may be on the stack from a function that is called while it works. */
#define STACK_BYTES 65536

/* The one place that holds an address on the stack while a statement is prepared, and nothing afterwards. */
static int parser_offset(const struct preparing *inside, const uint8_t *outside, size_t length) {
  int found = -1;
  for (int at = 0; (size_t)at + 8 <= length && (size_t)at + 8 <= inside->length; at += 8) {
    uintptr_t within = word(inside->memory + at);
    bool is_on_stack = within > inside->stack && within - inside->stack < STACK_BYTES;
    if (!is_on_stack || word(outside + at) != 0) continue;
    if (found >= 0) return -1;
    found = at;
  }
  return found;
}

/* Where a connection has the address of its parser while it prepares a statement. Old versions have it nowhere. */
static void examine_parser(struct library *library, sqlite3 *db) {
  /* Not on the stack, because the connection holds its address. */
  struct preparing *inside = calloc(1, sizeof *inside);
  uint8_t outside[CONNECTION_BYTES];
  sqlite3_stmt *statement = NULL;
  if (!inside) return;
  library->collation_needed(db, inside, at_collation);
  library->prepare_v2(db, "SELECT 'a' = 'b' COLLATE pragmark_has_none", -1, &statement, NULL);
  library->finalize(statement);
  library->collation_needed(db, NULL, NULL);
  library->shape.parser = parser_offset(inside, outside, peek(db, outside, sizeof outside));
  free(inside);
}

/* Examines a library on a database in memory. */
void examine(struct library *library) {
  struct shape *shape = &library->shape;
  *shape = (struct shape){.parameters = -1, .result = -1, .trace = -1, .trace_argument = -1,
                          .trace_mask = -1, .commit = -1, .commit_argument = -1, .authorizer = -1,
                          .progress = -1, .busy = -1, .busy_argument = -1, .parser = -1};
  sqlite3 *db = NULL;
  int saved = errno;
  if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  if (library->open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) == SQLITE_OK) {
    examine_values(library, db);
    examine_results(library, db);
    examine_callbacks(library, db);
    examine_guards(library, db);
    examine_waits(library, db);
    examine_parser(library, db);
  }
  library->close(db);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  errno = saved;
}

/* A pointer in memory that may be gone, or NULL. */
void *pointer_if_readable(const void *at) {
  void *pointer = NULL;
  if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) return NULL;
  if (peek(at, &pointer, sizeof pointer) != sizeof pointer) pointer = NULL;
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  return pointer;
}
