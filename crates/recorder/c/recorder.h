/* What the files of the recorder share. The recorder runs inside other people's programs, so it
** never ends them, never writes to their descriptors, holds no descriptor of its own between calls, and
** on any doubt stops recording and leaves a mark in the file. */
#ifndef PRAGMARK_RECORDER_H
#define PRAGMARK_RECORDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Only types and the table of functions are used; with this no name stands for a call through a table. */
#define SQLITE_CORE 1
#include "sqlite3ext.h"

#include "layout.h"

#define INTERNAL __attribute__((visibility("hidden")))
#define EXPORTED __attribute__((visibility("default")))
/* Fits the reserve that loaders keep for libraries loaded later, and costs one instruction. */
#define THREAD_LOCAL static __thread __attribute__((tls_model("initial-exec")))

/* --- SQLite's functions (library.c) --- */

/* Every function that the recorder calls, with the first version that has it. */
#define FUNCTIONS(F) \
  F(libversion, 0) F(libversion_number, 0) F(sourceid, 0) F(auto_extension, 0) F(open_v2, 0) \
  F(close, 0) F(exec, 0) F(errmsg, 0) F(free, 0) F(db_filename, 0) F(db_readonly, 0) \
  F(file_control, 0) F(trace_v2, 0) F(commit_hook, 0) F(sql, 0) F(expanded_sql, 0) \
  F(stmt_busy, 0) F(stmt_readonly, 0) F(stmt_status, 0) F(bind_parameter_count, 0) \
  F(prepare_v2, 0) F(step, 0) F(reset, 0) F(finalize, 0) F(bind_int64, 0) F(bind_double, 0) \
  F(bind_text, 0) F(bind_blob, 0) F(bind_zeroblob, 0) F(column_text, 0) F(get_autocommit, 0) \
  F(total_changes, 0) F(backup_init, 0) F(backup_step, 0) F(backup_finish, 0) \
  F(extended_result_codes, 0) F(busy_timeout, 0) F(busy_handler, 0) F(collation_needed, 0) \
  F(bind_pointer, 3020000) F(txn_state, 3034000) F(db_name, 3039000)

/* Those that a library may have been built without. */
#define OPTIONAL_FUNCTIONS(F) F(set_authorizer, 0) F(progress_handler, 0)

/* Where SQLite keeps what it has no function for, as found by experiments on statements and connections of
** the recorder's own (shape.c); all offsets are in bytes, and -1 where an experiment had no clear result. */
struct shape {
  int parameters;              /* in a statement: the pointer to its bound values */
  int stride, value, flags, length, bytes; /* the size of a bound value, and offsets in it */
  uint16_t zero_flag, pointer_flags;
  int result;                  /* in a statement: its result code */
  int trace, trace_argument, trace_mask, commit, commit_argument; /* in a connection */
  int authorizer, progress;    /* in a connection: the program's callbacks */
  int busy, busy_argument;     /* in a connection: what SQLite calls while a lock is in the way */
  int parser;                  /* in a connection: the parser of the statement that is being prepared */
};

struct library {
  struct library *next;
  const void *table;           /* the table by which it is known, or NULL */
  int number;                  /* in this process, from 1 */
  int announced;               /* the generation in which its record was written */
  enum door door;
  bool usable;
  bool in_use;                 /* the program has opened a connection */
  struct shape shape;
  const char *path;            /* of the module that contains it */
#define FIELD(name, since) __typeof__(((sqlite3_api_routines *)0)->name) name;
  FUNCTIONS(FIELD)
  OPTIONAL_FUNCTIONS(FIELD)
#undef FIELD
};

INTERNAL struct library *library_of_table(const sqlite3_api_routines *, enum door);
INTERNAL struct library *library_of_symbols(void *handle, enum door);
INTERNAL struct library *library_of_function(const void *);
INTERNAL void unlock_libraries(void);
INTERNAL void open_door(struct library *);
/* Once for each library, so it may be small rather than fast. */
INTERNAL __attribute__((cold)) void examine(struct library *);
INTERNAL void *pointer_if_readable(const void *);

/* --- The file (file.c) --- */

/* Where one connection, or the process, writes. */
struct writer {
  struct chunk *chunk;
  uint32_t used;
  uint32_t connection;
  int generation;              /* of the process that has mapped the chunk */
  uint64_t time;               /* of the last record */
};

/* The state of this process. */
struct process {
  struct header *header;       /* NULL: nothing is recorded */
  bool active;
  int generation;              /* grows at every fork */
  uint32_t number;             /* 0: not yet announced */
  char folder[3072];           /* of the recording */
  pthread_mutex_t lock;
};
INTERNAL extern struct process process;

INTERNAL bool file_open(const char *folder);
INTERNAL uint8_t *reserve(struct writer *, size_t bytes);
INTERNAL void publish(struct writer *, const uint8_t *end);
INTERNAL void release(struct writer *);
INTERNAL struct writer taken_spare(uint32_t connection);
INTERNAL void stop(enum lost reason);
INTERNAL void after_fork(void);
INTERNAL uint64_t now(void);
INTERNAL uint8_t *put(uint8_t *, uint64_t);
INTERNAL uint8_t *put_time(uint8_t *, struct writer *);
INTERNAL uint8_t *put_bytes(uint8_t *, const void *, size_t);
INTERNAL void note(enum note, const char *);
INTERNAL void leave(void);

/* --- Connections and their statements (hooks.c) --- */

struct open_statement {
  sqlite3_stmt *statement;
  bool again;                  /* the schema had changed: SQLite prepares it again, and runs it without telling */
  uint64_t rows, waited;       /* the connection's time of waiting when it began */
  int steps, scans, sorts, indexes;
};

struct cached_text {
  sqlite3_stmt *statement;
  const char *text;            /* NULL, or the interned copy */
  uint32_t id;
};
#define CACHED_TEXTS 128

struct connection {
  struct connection *next;     /* in its bucket */
  sqlite3 *db;
  struct library *library;
  struct writer writer;
  struct cached_text *cache;
  uintptr_t memory;            /* what its database in memory is known by, 0 for one in a file */
  uint32_t memory_of;          /* the connection that opened this database, itself unless it is shared */
  int open, latest;            /* of the statements below: used ones, and the last one looked up */
  int changes;
  bool late;                   /* a statement has ended before SQLite counts what it changed */
  bool closed, secret, ran;
  bool replaced;               /* the program has replaced the callback, and statements may be missing */
  unsigned user_mask;          /* of the program's own trace callback */
  int (*user_trace)(unsigned, void *, void *, void *);
  void (*user_legacy)(void *, const char *); /* that of the legacy function */
  void *user_trace_argument;
  int (*user_busy)(void *, int, void *);
  void *user_busy_argument;
  uint64_t waited;             /* for locks, in ns */
  int (*user_commit)(void *);
  int (*commit)(void *);       /* the recorder's own hook for this connection, or NULL */
  struct open_statement statements[OPEN_STATEMENTS];
};

INTERNAL int trace_in_place(sqlite3 *, unsigned, int (*)(unsigned, void *, void *, void *), void *);
INTERNAL void attach(sqlite3 *, struct library *);
INTERNAL void check_connections(void);
INTERNAL int on_commit(struct connection *, void *argument);
INTERNAL bool is_own_work(void);
INTERNAL void set_own_work(bool);

/* --- The functions that run before a commit (commits.c) --- */

INTERNAL bool takes_hook(struct connection *);
INTERNAL void leave_hook(struct connection *);

/* --- Texts and values (texts.c, values.c, secrets.c) --- */

INTERNAL uint32_t text_id(struct connection *, sqlite3_stmt *, const char *);
INTERNAL void forget_texts(void);
INTERNAL void forget_cached(struct connection *);
INTERNAL size_t values_bound(struct connection *, sqlite3_stmt *, int count, char **expanded);
INTERNAL uint8_t *put_values(uint8_t *, struct connection *, sqlite3_stmt *, int count, char *expanded);
INTERNAL bool is_attach(const char *sql);
INTERNAL bool sets_key(const char *sql);
INTERNAL bool hides_text(const struct connection *);
INTERNAL char *hidden_text(const struct connection *, const char *sql);
INTERNAL uint64_t keyed_hash(const uint64_t key[2], const void *, size_t);
INTERNAL void put_order_code(uint8_t code[ORDER_CODE], const void *, size_t);

/* --- Snapshots (snapshot.c) --- */

INTERNAL void snapshot(struct connection *, const char *file);
INTERNAL void snapshot_attached(struct connection *);

/* --- Doors (scan.c, doors.c, configure.c) --- */

INTERNAL void scan_modules(void);
INTERNAL void begin_fork(void);
INTERNAL void end_fork(void);
INTERNAL void forked(void);
INTERNAL void *real_dlopen(const char *, int);
INTERNAL void *real_function(const void *caller, const char *name, const void *own);
INTERNAL void enter_by_symbols(sqlite3 *, const void *function, enum door);
INTERNAL bool open_door_later(const sqlite3_api_routines *, int (*auto_extension)(void (*)(void)), uintptr_t low,
                              uintptr_t high);
INTERNAL void find_openers(void);
INTERNAL int entry(sqlite3 *, char **, const sqlite3_api_routines *);

#endif
