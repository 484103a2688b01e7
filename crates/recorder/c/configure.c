/* Programs that configure their SQLite before they use it, such as its shell.
**
** The recorder has SQLite start when it asks to be called for each connection, and sqlite3_config() refuses a library
** that has started. So where a program calls it through the dynamic linker, the library is ended before and started
** again after. Where SQLite is part of a program or of a module, nobody sees the call: such a library is asked when it
** opens its first file, which happens while a connection is made, and before SQLite calls the extensions for it. */
#define _GNU_SOURCE
#include "recorder.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

EXPORTED int sqlite3_config(int option, ...);

/* The function that a caller would have without the recorder, whose own one is not meant. */
void *real_function(const void *caller, const char *name, const void *own) {
  Dl_info info;
  void *handle = dladdr(caller, &info) && info.dli_fname ? real_dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  void *found = handle ? dlsym(handle, name) : NULL;
  if (handle) dlclose(handle);
  return found && found != own ? found : dlsym(RTLD_NEXT, name);
}

/* Whether a call comes from another module: a library configures itself while it starts. */
static bool is_from_outside(const void *caller, const void *function) {
  Dl_info from, to;
  return dladdr(caller, &from) && dladdr(function, &to) && from.dli_fbase != to.dli_fbase;
}

/* Whether only the recorder has used a library so far. */
static bool is_recorders(const struct library *library) {
  return process.active && library && library->usable && library->door != DOOR_EXTENSION && !library->in_use;
}

/* All options take up to three integers or pointers. */
EXPORTED int sqlite3_config(int option, ...) {
  const void *caller = __builtin_return_address(0);
  int (*configure)(int, ...) = (int (*)(int, ...))real_function(caller, "sqlite3_config", (const void *)sqlite3_config);
  int (*end)(void) = (int (*)(void))real_function(caller, "sqlite3_shutdown", NULL);
  if (!configure || !end) return SQLITE_MISUSE;
  va_list rest;
  va_start(rest, option);
  void *first = va_arg(rest, void *), *second = va_arg(rest, void *), *third = va_arg(rest, void *);
  va_end(rest);
  struct library *library = library_of_function((const void *)configure);
  bool restarts = is_from_outside(caller, (const void *)configure) && is_recorders(library);
  if (restarts) end();
  int result = configure(option, first, second, third);
  if (restarts) open_door(library);
  return result;
}

/* --- Libraries that wait for their first file --- */

#define WAITING 32

/* Its code lies between its functions. A module may be gone, and another one be in its place: then its table, if it has one,
** is another, too. */
struct waiting {
  const sqlite3_api_routines *table;
  int (*auto_extension)(void (*)(void));
  uintptr_t low, high;
  bool done;
};

static struct waiting waiting[WAITING];
static int waiting_count;

/* Has a library call the recorder from its first file on; false if too many wait. Calls come one after the other. */
bool open_door_later(const sqlite3_api_routines *table, int (*auto_extension)(void (*)(void)), uintptr_t low,
                     uintptr_t high) {
  int count = waiting_count;
  if (count == WAITING) return false;
  waiting[count] = (struct waiting){table, auto_extension, low, high, false};
  __atomic_store_n(&waiting_count, count + 1, __ATOMIC_RELEASE);
  return true;
}

/* Whether it is the library of this code, and it has not been asked. */
static bool opens_file(struct waiting *it, uintptr_t code) {
  return code >= it->low && code < it->high && !__atomic_load_n(&it->done, __ATOMIC_ACQUIRE) &&
         (!it->table || pointer_if_readable(&it->table->auto_extension) == (void *)it->auto_extension);
}

static void before_open(const void *caller) {
  int count = __atomic_load_n(&waiting_count, __ATOMIC_ACQUIRE);
  if (count == 0 || !process.active || is_own_work()) return;
  for (int i = 0; i < count; i++) {
    if (!opens_file(&waiting[i], (uintptr_t)caller)) continue;
    /* Threads that come at once may all ask: SQLite takes it once, and none goes on before. */
    waiting[i].auto_extension((void (*)(void))entry);
    __atomic_store_n(&waiting[i].done, true, __ATOMIC_RELEASE);
  }
}

typedef int opener(const char *, int, ...);
static opener *real_open, *real_open64;

/* Before anything of the program calls them. */
void find_openers(void) {
  real_open = (opener *)dlsym(RTLD_NEXT, "open");
  real_open64 = (opener *)dlsym(RTLD_NEXT, "open64");
}

#define OPEN(name) \
  EXPORTED int name(const char *file, int flags, ...) { \
    mode_t mode = 0; \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
      va_list rest; \
      va_start(rest, flags); \
      mode = va_arg(rest, mode_t); \
      va_end(rest); \
    } \
    before_open(__builtin_return_address(0)); \
    if (real_##name) return real_##name(file, flags, mode); \
    return (int)syscall(SYS_openat, AT_FDCWD, file, flags, mode); \
  }
OPEN(open)
OPEN(open64)
