/* The interposing door: the functions that open connections, in place of those of a shared library.
**
** This file is in an object of its own, which `--door interpose` alone loads: programs look for these names to find out
** whether there is an SQLite. The library is not started before the program starts it. */
#define _GNU_SOURCE
#include "recorder.h"

EXPORTED int sqlite3_open(const char *, sqlite3 **);
EXPORTED int sqlite3_open16(const void *, sqlite3 **);
EXPORTED int sqlite3_open_v2(const char *, sqlite3 **, int, const char *);

/* Records the connection that a function has opened; returns the function's result. */
static int entered(int result, sqlite3 *const *db, const void *function) {
  if (result == SQLITE_OK && db && *db) enter_by_symbols(*db, function, DOOR_INTERPOSE);
  return result;
}

#define REAL(name) real_function(__builtin_return_address(0), #name, (const void *)name)

EXPORTED int sqlite3_open(const char *file, sqlite3 **db) {
  int (*real)(const char *, sqlite3 **) = (int (*)(const char *, sqlite3 **))REAL(sqlite3_open);
  return real ? entered(real(file, db), db, (const void *)real) : SQLITE_ERROR;
}

EXPORTED int sqlite3_open16(const void *file, sqlite3 **db) {
  int (*real)(const void *, sqlite3 **) = (int (*)(const void *, sqlite3 **))REAL(sqlite3_open16);
  return real ? entered(real(file, db), db, (const void *)real) : SQLITE_ERROR;
}

EXPORTED int sqlite3_open_v2(const char *file, sqlite3 **db, int flags, const char *vfs) {
  int (*real)(const char *, sqlite3 **, int, const char *) =
      (int (*)(const char *, sqlite3 **, int, const char *))REAL(sqlite3_open_v2);
  return real ? entered(real(file, db, flags, vfs), db, (const void *)real) : SQLITE_ERROR;
}
