/* SQLite's functions, taken from the table that a library hands to its extensions, or by name. */
#define _GNU_SOURCE
#include "recorder.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The first version with sqlite3_trace_v2. */
#define OLDEST 3014000

/* The latest first. Those of modules that are gone stay, because connections refer to them. The lock is for adding one.
** Nothing is called while it is held: examining a library and asking the loader wait for locks of others, and a thread
** that has the loader's, in the constructor of a module, may be waiting here. */
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

static struct library *latest(void) { return __atomic_load_n(&libraries, __ATOMIC_ACQUIRE); }

/* The known library that is the same; a function and not a table stands for one that has no table. */
static struct library *same_as(const struct library *wanted) {
  struct library *library = latest();
  while (library && !(library->table == wanted->table && library->libversion_number == wanted->libversion_number &&
                      strcmp(library->path, wanted->path) == 0))
    library = library->next;
  return library;
}

/* Works out what remains to be known of a library once its functions are, and adds it to those that are known. Another
** thread may have done so meanwhile: then its one counts. */
static struct library *added(struct library *library, int version) {
  library->usable = is_complete(library, version);
  if (library->usable) examine(library);
  pthread_mutex_lock(&lock);
  struct library *other = same_as(library);
  if (!other) {
    library->number = libraries ? libraries->number + 1 : 1;
    library->next = libraries;
    __atomic_store_n(&libraries, library, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&lock);
  if (!other) return library;
  free((void *)library->path);
  free(library);
  return other;
}

/* The dynamic linker may have given the recorder's own function, which would call itself. */
static void without_own(struct library *library) {
  if (library->trace_v2 == trace_in_place)
    library->trace_v2 = (__typeof__(library->trace_v2))real_function(
        (const void *)library->libversion_number, "sqlite3_trace_v2", (const void *)trace_in_place);
}

static struct library *new_of_table(const sqlite3_api_routines *table, enum door door) {
  int version = table->libversion_number();
  struct library *library =
      made(table, version, door, module_of((const void *)table->libversion_number));
  if (!library) return NULL;
  /* A table of an older version is shorter: its end must not be read. */
#define TAKE(name, since) if (version >= since) library->name = table->name;
  FUNCTIONS(TAKE)
  OPTIONAL_FUNCTIONS(TAKE)
#undef TAKE
  without_own(library);
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
  OPTIONAL_FUNCTIONS(TAKE)
#undef TAKE
  without_own(library);
  return added(library, version);
}

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
  struct library *library = latest();
  while (library && !has_table(library, table)) library = library->next;
  return library ? library : new_of_table(table, door);
}

struct library *library_of_symbols(void *handle, enum door door) {
  struct library *library = library_of_function(dlsym(handle, "sqlite3_libversion_number"));
  return library ? library : new_of_symbols(handle, door);
}
