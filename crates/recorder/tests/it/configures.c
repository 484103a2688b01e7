/* A program that contains SQLite and configures it before it opens a database; its arguments are databases. */
#include "sqlite3.h"

int main(int count, char **names) {
  sqlite3 *db;
  if (sqlite3_config(SQLITE_CONFIG_SERIALIZED) != SQLITE_OK) return 21;
  for (int i = 1; i < count; i++) {
    if (sqlite3_open(names[i], &db) != SQLITE_OK) return 1;
    if (sqlite3_exec(db, "CREATE TABLE t(a); INSERT INTO t VALUES (1);", 0, 0, 0) != SQLITE_OK) return 2;
    sqlite3_close(db);
  }
  return 0;
}
