/* How the recorder gets into a process: its constructor, the loading of further modules, forks and the end.
**
** The recording is in the folder of the recorder itself, so a program needs no setting but LD_PRELOAD. */
#define _GNU_SOURCE
#include "recorder.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void attach_with(sqlite3 *db, struct library *library) {
  if (library && library->usable) attach(db, library);
}

/* A connection that a function of a module has opened (interpose.c), where the library's functions have names. */
void enter_by_symbols(sqlite3 *db, const void *function, enum door door) {
  Dl_info info;
  if (!process.active || is_own_work() || !dladdr(function, &info)) return;
  void *handle = real_dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle && !(handle = real_dlopen(NULL, RTLD_LAZY))) return;
  set_own_work(true);
  struct library *library = library_of_symbols(handle, door);
  set_own_work(false);
  dlclose(handle);
  attach_with(db, library);
}

/* What SQLite calls for each new connection, before sqlite3_open() returns; without a table where it was built without the
** loading of extensions. */
int entry(sqlite3 *db, char **error, const sqlite3_api_routines *table) {
  (void)error;
  if (!process.active || is_own_work()) return SQLITE_OK;
  if (!table) return enter_by_symbols(db, __builtin_return_address(0), DOOR_SYMBOL), SQLITE_OK;
  set_own_work(true);
  struct library *library = library_of_table(table, DOOR_TABLE);
  set_own_work(false);
  attach_with(db, library);
  return SQLITE_OK;
}

/* The extension door: a program has loaded the recorder as an extension of SQLite. It stays loaded and is
** called for all later connections. */
EXPORTED int sqlite3_extension_init(sqlite3 *db, char **error, const sqlite3_api_routines *table) {
  (void)error;
  if (!process.active || !table) return SQLITE_OK_LOAD_PERMANENTLY;
  set_own_work(true);
  struct library *library = library_of_table(table, DOOR_EXTENSION);
  if (library && library->usable) library->auto_extension((void (*)(void))entry);
  set_own_work(false);
  attach_with(db, library);
  return SQLITE_OK_LOAD_PERMANENTLY;
}

static void in_child(void) {
  if (!process.header) return;
  unlock_libraries();
  forked();
  after_fork();
}

/* The folder of the object that this code is in. */
static bool own_folder(char *folder, size_t size) {
  Dl_info info;
  if (!dladdr((const void *)own_folder, &info) || !info.dli_fname) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  if (!slash || (size_t)(slash - info.dli_fname) >= size) return false;
  snprintf(folder, size, "%.*s", (int)(slash - info.dli_fname), info.dli_fname);
  return true;
}

__attribute__((constructor)) static void arrive(void) {
  /* `open` of the whole program comes here, recorded or not. */
  find_openers();
  char folder[3072];
  if (!own_folder(folder, sizeof folder) || !file_open(folder)) return;
  __atomic_fetch_add(&process.header->preloaded, 1, __ATOMIC_RELAXED);
  pthread_atfork(begin_fork, end_fork, in_child);
  if (process.header->door != DOOR_EXTENSION && process.header->door != DOOR_INTERPOSE) scan_modules();
}

__attribute__((destructor)) static void depart(void) {
  if (!process.active) return;
  check_connections();
  leave();
}

/* --- Modules loaded later --- */

void *real_dlopen(const char *name, int flags) {
  static void *(*real)(const char *, int);
  if (!real) real = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  return real(name, flags);
}

/* The loader searches the folders that the calling module names, and takes the recorder for the caller. So a
** name without a folder is looked for where the real caller would have it. */
static void *load_as(const void *caller, const char *name, int flags) {
  Dl_info info;
  Dl_serinfo size;
  if (!dladdr(caller, &info) || !info.dli_fname) return NULL;
  void *handle = real_dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return NULL;
  void *loaded = NULL;
  if (dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0 && size.dls_size < 65536) {
    char buffer[size.dls_size] __attribute__((aligned(8))), path[4096];
    Dl_serinfo *folders = (Dl_serinfo *)buffer;
    memcpy(folders, &size, sizeof size);
    if (dlinfo(handle, RTLD_DI_SERINFO, folders) == 0)
      for (unsigned i = 0; i < folders->dls_cnt && !loaded; i++) {
        snprintf(path, sizeof path, "%s/%s", folders->dls_serpath[i].dls_name, name);
        loaded = real_dlopen(path, flags);
      }
  }
  dlclose(handle);
  return loaded;
}

EXPORTED void *dlopen(const char *name, int flags) {
  void *caller = __builtin_return_address(0), *handle = real_dlopen(name, flags);
  bool searched = !handle && name && !strchr(name, '/') && !(flags & RTLD_NOLOAD);
  if (searched && !(handle = load_as(caller, name, flags)))
    handle = real_dlopen(name, flags); /* for dlerror() to speak of this name */
  bool scans = handle && name && process.active && !is_own_work() &&
               (process.header->door == DOOR_ANY || process.header->door == DOOR_TABLE ||
                process.header->door == DOOR_SYMBOL);
  if (scans) scan_modules();
  return handle;
}
