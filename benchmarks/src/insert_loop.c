/* The loop that a C programmer would write: the lower bound for the native driver's insert loop.
** Usage: insert_loop DATABASE VALUES_FILE; prints the seconds from BEGIN to the end of COMMIT. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "sqlite3.h"

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void check(int result, int wanted, const char *what) {
  if (result != wanted) {
    fprintf(stderr, "%s: %d\n", what, result);
    exit(1);
  }
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  FILE *file = fopen(argv[2], "rb");
  if (!file) return 3;
  fseek(file, 0, SEEK_END);
  size_t rows = (size_t)ftell(file) / sizeof(sqlite3_int64);
  rewind(file);
  sqlite3_int64 *values = malloc(rows * sizeof *values);
  if (!values || fread(values, sizeof *values, rows, file) != rows) return 4;
  fclose(file);

  sqlite3 *database;
  sqlite3_stmt *insert;
  check(sqlite3_open(argv[1], &database), SQLITE_OK, "open");
  check(sqlite3_exec(database, "CREATE TABLE integers(value INTEGER)", 0, 0, 0), SQLITE_OK, "create");
  check(sqlite3_prepare_v2(database, "INSERT INTO integers(value) VALUES (?)", -1, &insert, 0), SQLITE_OK, "prepare");

  double start = now();
  check(sqlite3_exec(database, "BEGIN", 0, 0, 0), SQLITE_OK, "begin");
  for (size_t row = 0; row < rows; row++) {
    check(sqlite3_bind_int64(insert, 1, values[row]), SQLITE_OK, "bind");
    check(sqlite3_step(insert), SQLITE_DONE, "step");
    check(sqlite3_reset(insert), SQLITE_OK, "reset");
  }
  check(sqlite3_exec(database, "COMMIT", 0, 0, 0), SQLITE_OK, "commit");
  printf("%.9f\n", now() - start);

  sqlite3_finalize(insert);
  check(sqlite3_close(database), SQLITE_OK, "close");
  return 0;
}
