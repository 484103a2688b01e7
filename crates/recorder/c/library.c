/* SQLite's functions, taken from the table that a library hands to its extensions, or by name. */
#define _GNU_SOURCE
#include "recorder.h"

#include <dlfcn.h>
#include <string.h>

/* The first version with sqlite3_trace_v2. */
#define OLDEST 3014000
#define LIBRARIES 16

static struct library libraries[LIBRARIES];
static int count;

static const char *module_of(const void *function) {
  Dl_info info;
  if (dladdr(function, &info) && info.dli_fname) return info.dli_fname;
  return "";
}

/* A new library with a version, or NULL when there are too many or it is too old. */
static struct library *added(const void *table, int version, enum door door, const char *path) {
  if (version < OLDEST) {
    note(NOTE_OLD, path);
    return NULL;
  }
  if (count == LIBRARIES) return NULL;
  struct library *library = &libraries[count++];
  memset(library, 0, sizeof *library);
  library->table = table;
  library->number = count;
  library->door = door;
  library->path = path;
  return library;
}

static bool is_complete(struct library *library, int version) {
#define CHECK(name, since) if (version >= since && !library->name) return false;
  FUNCTIONS(CHECK)
#undef CHECK
  return true;
}

/* Works out what remains to be known of a library once its functions are. */
static struct library *completed(struct library *library, int version) {
  library->usable = is_complete(library, version);
  if (library->usable) examine(library);
  return library;
}

static struct library *new_of_table(const sqlite3_api_routines *table, enum door door) {
  int version = table->libversion_number();
  struct library *library =
      added(table, version, door, module_of((const void *)table->libversion_number));
  if (!library) return NULL;
  /* A table of an older version is shorter: its end must not be read. */
#define TAKE(name, since) if (version >= since) library->name = table->name;
  FUNCTIONS(TAKE)
#undef TAKE
  return completed(library, version);
}

static struct library *new_of_symbols(void *handle, enum door door) {
  int (*libversion_number)(void) = (int (*)(void))dlsym(handle, "sqlite3_libversion_number");
  if (!libversion_number) return NULL;
  int version = libversion_number();
  struct library *library = added(NULL, version, door, module_of((const void *)libversion_number));
  if (!library) return NULL;
#define TAKE(name, since) \
  if (version >= since) library->name = (__typeof__(library->name))dlsym(handle, "sqlite3_" #name);
  FUNCTIONS(TAKE)
#undef TAKE
  return completed(library, version);
}

struct library *library_of_table(const sqlite3_api_routines *table, enum door door) {
  pthread_mutex_lock(&process.lock);
  struct library *library = NULL;
  for (int i = 0; i < count && !library; i++)
    if (libraries[i].table == table) library = &libraries[i];
  pthread_mutex_unlock(&process.lock);
  return library ? library : new_of_table(table, door);
}

/* The library that a function belongs to, if it is known. */
struct library *library_of_function(const void *function) {
  const char *path = module_of(function);
  for (int i = 0; i < count; i++)
    if (strcmp(libraries[i].path, path) == 0) return &libraries[i];
  return NULL;
}

struct library *library_of_symbols(void *handle, enum door door) {
  struct library *known = library_of_function(dlsym(handle, "sqlite3_libversion_number"));
  return known ? known : new_of_symbols(handle, door);
}
