/* The table door and the symbol door: libraries in the modules of this process.
**
** A library that can load extensions has a table of its functions, and every module is searched for such a
** table: a function that returns a version as a number, with another one that returns the same version as a
** text at the right distance. The library is then asked to call the recorder for each new connection.
** Nothing in a module is called while the loader's list is walked, because that list is locked. */
#define _GNU_SOURCE
#include "code.h"
#include "recorder.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MODULES 1024
#define SEGMENTS 12

/* Nanoseconds that a thread waits for another one's search. */
#define PATIENCE 200000000

struct segment { uintptr_t begin, end; unsigned flags; };

struct module {
  uintptr_t base;
  const char *path;
  int count;
  struct segment segments[SEGMENTS];
};

struct modules {
  int count;
  unsigned long long unloaded;
  struct module all[MODULES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Whether modules have come that the thread with the lock may have missed. */
static bool again;

/* Whether the lock could be had. A search asks the loader, whose lock a thread has that runs the constructor of a module;
** that thread comes here, too, when it loads another module or forks, and must not wait for ever. */
static bool can_lock(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += PATIENCE;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  return pthread_mutex_timedlock(&lock, &until) == 0;
}

/* Around a fork: no thread may be walking the loader's list, whose lock the child would never get. */
THREAD_LOCAL bool forks_alone;
void begin_fork(void) { forks_alone = can_lock(); }
void end_fork(void) { if (forks_alone) pthread_mutex_unlock(&lock); }

/* In the child of a fork: a thread of the parent may have had the lock. */
void forked(void) { pthread_mutex_init(&lock, NULL); }

/* Modules that have been searched. */
static uintptr_t seen[MODULES];
static int seen_count;
static unsigned long long seen_unloaded;

static int add_module(struct dl_phdr_info *info, size_t size, void *context) {
  struct modules *modules = context;
  if (modules->count == MODULES) return 1;
  struct module *module = &modules->all[modules->count++];
  if (size >= sizeof *info) modules->unloaded = info->dlpi_subs;
  module->base = info->dlpi_addr;
  module->path = info->dlpi_name;
  module->count = 0;
  for (int i = 0; i < info->dlpi_phnum && module->count < SEGMENTS; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type != PT_LOAD) continue;
    uintptr_t begin = info->dlpi_addr + header->p_vaddr;
    module->segments[module->count++] = (struct segment){begin, begin + header->p_memsz, header->p_flags};
  }
  return 0;
}

static bool contains(const struct module *module, uintptr_t address, size_t bytes, unsigned flags) {
  for (int i = 0; i < module->count; i++) {
    const struct segment *segment = &module->segments[i];
    /* Any word may stand for an address, so sums could wrap around. */
    size_t size = segment->end - segment->begin;
    if (address >= segment->begin && bytes <= size && address - segment->begin <= size - bytes)
      return (segment->flags & flags) == flags;
  }
  return false;
}

#define CODE_BYTES 48

static bool is_code(const struct module *module, uintptr_t address) {
  return contains(module, address, CODE_BYTES, PF_X | PF_R);
}

/* Whether a function returns the text of this version. */
static bool returns_version(const struct module *module, uintptr_t function, uint32_t version) {
  char text[16];
  uintptr_t loaded, address = returns_address((const uint8_t *)function, &loaded);
  if (loaded) {
    if (!contains(module, loaded, sizeof address, PF_R)) return false;
    address = *(const uintptr_t *)loaded;
  }
  int length = snprintf(text, sizeof text, "%u.%u.%u", version / 1000000, version / 1000 % 1000, version % 1000);
  return contains(module, address, sizeof text, PF_R) && strncmp((const char *)address, text, (size_t)length) == 0;
}

/* Whether a function jumps to where nothing is yet: the library is started by something else later. */
static bool is_stub(const struct module *module, uintptr_t function) {
  uintptr_t pointer = jumps_through((const uint8_t *)function);
  return pointer && (!contains(module, pointer, sizeof pointer, PF_R) || *(const uintptr_t *)pointer == 0);
}

static bool is_table(const struct module *module, const sqlite3_api_routines *table) {
  uintptr_t number = (uintptr_t)table->libversion_number, text = (uintptr_t)table->libversion;
  uint32_t version;
  return is_code(module, number) && is_code(module, text) &&
         returns_constant((const uint8_t *)number, &version) && version >= 3000000 && version < 4000000 &&
         returns_version(module, text, version) && is_code(module, (uintptr_t)table->auto_extension) &&
         is_code(module, (uintptr_t)table->open_v2);
}

/* Has a library call the recorder for each new connection. */
void open_door(struct library *library) {
  if (library && library->usable) library->auto_extension((void (*)(void))entry);
}

/* Whether the library has to be started by the program, so that calling it now would end the process. */
static bool starts_later(int (*compileoption_used)(const char *)) {
  return compileoption_used && compileoption_used("OMIT_AUTOINIT");
}

/* Whether a module is an SQLite library and nothing else, by the name that it gives itself, or its file's. */
static bool is_shared_library(const struct module *module) {
  const char *slash = strrchr(module->path, '/'), *name = slash ? slash + 1 : module->path, *texts = NULL;
  void *handle = *module->path ? real_dlopen(module->path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
  struct link_map *map;
  if (handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0) {
    for (const ElfW(Dyn) *it = map->l_ld; it->d_tag != DT_NULL; it++)
      if (it->d_tag == DT_STRTAB) texts = (const char *)it->d_un.d_ptr;
    /* Not every loader relocates the address. */
    if (texts && (uintptr_t)texts < module->base) texts += module->base;
    for (const ElfW(Dyn) *it = map->l_ld; texts && it->d_tag != DT_NULL; it++)
      if (it->d_tag == DT_SONAME) name = texts + it->d_un.d_val;
  }
  bool is = strncmp(name, "lib", 3) == 0 && strstr(name, ".so") && (strstr(name, "sqlite3") || strstr(name, "sqlcipher"));
  if (handle) dlclose(handle);
  return is;
}

/* Where the functions of a library lie. The code of SQLite is in one piece, and begins and ends near them. */
struct extent { uintptr_t low, high; };

static void extend(struct extent *extent, const struct module *module, uintptr_t function) {
  if (!is_code(module, function)) return;
  if (!extent->low || function < extent->low) extent->low = function;
  if (function > extent->high) extent->high = function;
}

/* Whether a library is part of a program or a module, and is asked when it opens its first file. */
static bool is_asked_later(const struct module *module, const sqlite3_api_routines *table,
                           int (*auto_extension)(void (*)(void)), const struct extent *extent) {
  return process.header->door == DOOR_ANY && !is_shared_library(module) &&
         open_door_later(table, auto_extension, extent->low, extent->high);
}

static void enter_table(const struct module *module, const sqlite3_api_routines *table) {
  bool stub = is_stub(module, (uintptr_t)table->auto_extension) || is_stub(module, (uintptr_t)table->open_v2);
  bool go = is_go((const uint8_t *)table->auto_extension) || is_go((const uint8_t *)table->open_v2);
  if (stub || go || starts_later(is_code(module, (uintptr_t)table->compileoption_used) ? table->compileoption_used : NULL)) {
    note(NOTE_STUB, *module->path ? module->path : "the program");
    return;
  }
  struct extent extent = {0, 0};
  for (size_t i = 0; i <= offsetof(sqlite3_api_routines, trace_v2) / sizeof(uintptr_t); i++)
    extend(&extent, module, ((const uintptr_t *)table)[i]);
  if (!is_asked_later(module, table, table->auto_extension, &extent)) open_door(library_of_table(table, DOOR_TABLE));
}

/* The tables in a part of a module; how many there are. */
static int search_segment(const struct module *module, const struct segment *segment) {
  size_t last = offsetof(sqlite3_api_routines, trace_v2) + sizeof(void *);
  int tables = 0;
  for (uintptr_t at = (segment->begin + 7) & ~(uintptr_t)7; at + last <= segment->end; at += sizeof(void *)) {
    const sqlite3_api_routines *table = (const sqlite3_api_routines *)at;
    if (!is_table(module, table)) continue;
    enter_table(module, table);
    tables++;
  }
  return tables;
}

/* Position-independent modules need their tables relocated, so they are writable when loaded; others may
** have them among the constants. */
static int search_tables(const struct module *module) {
  int tables = 0;
  for (int i = 0; i < module->count; i++) {
    const struct segment *segment = &module->segments[i];
    bool may_hold = (segment->flags & PF_W) || (module->base == 0 && !(segment->flags & PF_X));
    if ((segment->flags & PF_R) && may_hold) tables += search_segment(module, segment);
  }
  return tables;
}

/* The symbol door, for libraries that cannot load extensions and so have no table. */
static void search_symbols(const struct module *module) {
  void *handle = real_dlopen(*module->path ? module->path : NULL, RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return;
  Dl_info info;
  void *function = dlsym(handle, "sqlite3_auto_extension");
  if (function && dladdr(function, &info) && contains(module, (uintptr_t)info.dli_saddr, 1, PF_X)) {
    struct extent extent = {0, 0};
#define EXTEND(name, since) extend(&extent, module, (uintptr_t)dlsym(handle, "sqlite3_" #name));
    FUNCTIONS(EXTEND)
#undef EXTEND
    if (starts_later((int (*)(const char *))dlsym(handle, "sqlite3_compileoption_used")))
      note(NOTE_STUB, *module->path ? module->path : "the program");
    else if (!is_asked_later(module, NULL, (int (*)(void (*)(void)))function, &extent))
      open_door(library_of_symbols(handle, DOOR_SYMBOL));
  }
  dlclose(handle);
}

/* Whether a module has not been searched yet; remembers it. */
static bool is_new(const struct module *module) {
  uintptr_t key = module->count > 0 ? module->segments[0].begin : module->base;
  for (int i = 0; i < seen_count; i++)
    if (seen[i] == key) return false;
  if (seen_count < MODULES) seen[seen_count++] = key;
  return true;
}

static void search(const struct module *module) {
  enum door door = process.header->door;
  bool table = door == DOOR_ANY || door == DOOR_TABLE, symbol = door == DOOR_ANY || door == DOOR_SYMBOL;
  if (contains(module, (uintptr_t)search, 1, PF_X)) return;
  int tables = table ? search_tables(module) : 0;
  if (symbol && tables == 0) search_symbols(module);
}

/* Searches the modules that have come since the last time, with the lock. */
static void search_new(struct modules *modules) {
  modules->count = 0;
  dl_iterate_phdr(add_module, modules);
  /* Another module may be loaded where one has been unloaded. */
  if (modules->unloaded != seen_unloaded) seen_count = 0;
  seen_unloaded = modules->unloaded;
  for (int i = 0; i < modules->count; i++)
    if (is_new(&modules->all[i])) search(&modules->all[i]);
}

/* Searches the modules that have come since the last time. */
void scan_modules(void) {
  struct modules *modules = calloc(1, sizeof *modules);
  if (!modules) return;
  __atomic_store_n(&again, true, __ATOMIC_RELEASE);
  /* Whoever has the lock meanwhile looks once more. */
  if (!can_lock()) return free(modules);
  set_own_work(true);
  while (__atomic_exchange_n(&again, false, __ATOMIC_ACQ_REL)) search_new(modules);
  set_own_work(false);
  pthread_mutex_unlock(&lock);
  free(modules);
}
