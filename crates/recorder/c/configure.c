/* Programs that configure their SQLite before they use it, such as its shell.
**
** The recorder has SQLite start when it asks to be called for each connection, and sqlite3_config() refuses a library
** that has started. So where a program calls it through the dynamic linker, the library is ended before and started
** again after. */
#define _GNU_SOURCE
#include "recorder.h"

#include <dlfcn.h>
#include <stdarg.h>

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
