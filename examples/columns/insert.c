/* Inserts two columns as an Arrow record batch with the extension pragmark_columns.
 *
 *   cc -o insert insert.c -lsqlite3
 *   ./insert libpragmark_columns.so
 *
 * A program that already has Arrow data does not fill in these structures: it binds the pointers that its
 * Arrow library provides.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* The Arrow C data interface: https://arrow.apache.org/docs/format/CDataInterface.html */
struct ArrowSchema {
  const char *format;
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary;
  void (*release)(struct ArrowSchema *);
  void *private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers;
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

/* What is bound under the name "pragmark_record_batch". */
struct record_batch {
  const struct ArrowSchema *schema;
  const struct ArrowArray *array;
};

static void check(int code, sqlite3 *database) {
  if (code == SQLITE_OK || code == SQLITE_DONE)
    return;
  fprintf(stderr, "%s\n", sqlite3_errmsg(database));
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s PATH_OF_THE_EXTENSION\n", argv[0]);
    return 2;
  }
  sqlite3 *database;
  check(sqlite3_open(":memory:", &database), database);
  check(sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1, NULL), database);
  char *reason = NULL;
  if (sqlite3_load_extension(database, argv[1], NULL, &reason) != SQLITE_OK) {
    fprintf(stderr, "%s\n", reason);
    return 1;
  }
  check(sqlite3_exec(database, "CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT)", NULL, NULL, NULL),
        database);

  /* id: 64-bit integers; name: offsets into bytes, with a bit for each value that is not NULL. */
  static const int64_t ids[] = {1, 2, 3};
  static const int32_t offsets[] = {0, 3, 3, 8};
  static const char bytes[] = "AdaGrace";
  static const uint8_t valid[] = {0x05};
  const void *id_buffers[] = {NULL, ids};
  const void *name_buffers[] = {valid, offsets, bytes};
  const void *no_buffers[] = {NULL};
  struct ArrowArray id = {.length = 3, .n_buffers = 2, .buffers = id_buffers};
  struct ArrowArray name = {.length = 3, .null_count = 1, .n_buffers = 3, .buffers = name_buffers};
  struct ArrowArray *columns[] = {&id, &name};
  struct ArrowArray array = {
      .length = 3, .n_buffers = 1, .buffers = no_buffers, .n_children = 2, .children = columns};
  struct ArrowSchema id_type = {.format = "l", .name = "id"};
  struct ArrowSchema name_type = {.format = "u", .name = "name"};
  struct ArrowSchema *types[] = {&id_type, &name_type};
  struct ArrowSchema schema = {.format = "+s", .name = "", .n_children = 2, .children = types};
  struct record_batch batch = {&schema, &array};

  sqlite3_stmt *insert;
  check(sqlite3_prepare_v2(database, "INSERT INTO people(id, name) SELECT c0, c1 FROM pragmark_columns(?1)", -1,
                           &insert, NULL),
        database);
  check(sqlite3_bind_pointer(insert, 1, &batch, "pragmark_record_batch", NULL), database);
  check(sqlite3_step(insert), database);
  check(sqlite3_finalize(insert), database);

  sqlite3_stmt *query;
  check(sqlite3_prepare_v2(database, "SELECT id, coalesce(name, 'NULL') FROM people", -1, &query, NULL), database);
  while (sqlite3_step(query) == SQLITE_ROW)
    printf("%lld|%s\n", (long long)sqlite3_column_int64(query, 0), (const char *)sqlite3_column_text(query, 1));
  check(sqlite3_finalize(query), database);
  return sqlite3_close(database);
}
