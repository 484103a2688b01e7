/* SQLite's functions, taken from the table that a library hands to its extensions, or by name. */
#define _GNU_SOURCE
#include "recorder.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The first version with sqlite3_trace_v2. */
#define OLDEST 3014000

/* The latest first. Those of modules that are gone stay, because connections refer to them. The lock is for adding one;
** while one is examined, it calls functions that look at the others. */
static struct library *libraries;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* In the child of a fork: a thread of the parent may have held the lock. */
void unlock_libraries(void) { pthread_mutex_init(&lock, NULL); }

static const char *module_of(const void *function) {
  Dl_info info;
  if (dladdr(function, &info) && info.dli_fname) return info.dli_fname;
  return "";
}

/* A new library with a version, or NULL when it is too old. The loader frees its path with the module. */
static struct library *made(const void *table, int version, enum door door, const char *path) {
  if (version < OLDEST) {
    note(NOTE_OLD, path);
    return NULL;
  }
  struct library *library = calloc(1, sizeof *library);
  char *copy = strdup(path);
  if (!library || !copy) return free(library), free(copy), stop(LOST_MEMORY), NULL;
  library->table = table;
  library->door = door;
  library->path = copy;
  return library;
}

static bool is_complete(struct library *library, int version) {
#define CHECK(name, since) if (version >= since && !library->name) return false;
  FUNCTIONS(CHECK)
#undef CHECK
  return true;
}

/* Works out what remains to be known of a library once its functions are, and adds it to those that are known. */
static struct library *added(struct library *library, int version) {
  library->usable = is_complete(library, version);
  if (library->usable) examine(library);
  library->number = libraries ? libraries->number + 1 : 1;
  library->next = libraries;
  __atomic_store_n(&libraries, library, __ATOMIC_RELEASE);
  return library;
}

static struct library *new_of_table(const sqlite3_api_routines *table, enum door door) {
  int version = table->libversion_number();
  struct library *library =
      made(table, version, door, module_of((const void *)table->libversion_number));
  if (!library) return NULL;
  /* A table of an older version is shorter: its end must not be read. */
#define TAKE(name, since) if (version >= since) library->name = table->name;
  FUNCTIONS(TAKE)
#undef TAKE
  return added(library, version);
}

static struct library *new_of_symbols(void *handle, enum door door) {
  int (*libversion_number)(void) = (int (*)(void))dlsym(handle, "sqlite3_libversion_number");
  if (!libversion_number) return NULL;
  int version = libversion_number();
  struct library *library = made(NULL, version, door, module_of((const void *)libversion_number));
  if (!library) return NULL;
#define TAKE(name, since) \
  if (version >= since) library->name = (__typeof__(library->name))dlsym(handle, "sqlite3_" #name);
  FUNCTIONS(TAKE)
#undef TAKE
  return added(library, version);
}

static struct library *latest(void) { return __atomic_load_n(&libraries, __ATOMIC_ACQUIRE); }

/* The library that a function belongs to, if it is known. Another module may be where one was that is gone. */
struct library *library_of_function(const void *function) {
  Dl_info of, it;
  if (!function || !dladdr(function, &of) || !of.dli_fname) return NULL;
  for (struct library *library = latest(); library; library = library->next) {
    bool is_loaded = dladdr((const void *)library->libversion_number, &it) && it.dli_fbase == of.dli_fbase;
    if (is_loaded && strcmp(library->path, of.dli_fname) == 0) return library;
  }
  return NULL;
}

static bool has_table(const struct library *library, const sqlite3_api_routines *table) {
  return library->table == table && library->libversion_number == table->libversion_number;
}

struct library *library_of_table(const sqlite3_api_routines *table, enum door door) {
  pthread_mutex_lock(&lock);
  struct library *library = latest();
  while (library && !has_table(library, table)) library = library->next;
  if (!library) library = new_of_table(table, door);
  pthread_mutex_unlock(&lock);
  return library;
}

struct library *library_of_symbols(void *handle, enum door door) {
  pthread_mutex_lock(&lock);
  struct library *library = library_of_function(dlsym(handle, "sqlite3_libversion_number"));
  if (!library) library = new_of_symbols(handle, door);
  pthread_mutex_unlock(&lock);
  return library;
}
