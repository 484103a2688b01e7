/* A module whose constructor, while the loader's lock is held, loads a module, opens a connection and forks. */
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((constructor)) static void begin(void) {
  void *sqlite = dlopen("libsqlite3.so.0", RTLD_NOW), *db = 0;
  int (*open)(const char *, void **) = sqlite ? (int (*)(const char *, void **))dlsym(sqlite, "sqlite3_open") : 0;
  int (*close)(void *) = sqlite ? (int (*)(void *))dlsym(sqlite, "sqlite3_close") : 0;
  if (open && close && open(":memory:", &db) == 0) close(db);
  int pid = fork(), status;
  if (pid == 0) _exit(0);
  waitpid(pid, &status, 0);
}
