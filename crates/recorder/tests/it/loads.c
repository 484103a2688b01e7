/* Loads each of the modules that it gets as arguments in a thread of its own, again and again. */
#include <dlfcn.h>
#include <pthread.h>

static void *load(void *name) {
  for (int i = 0; i < 12; i++) {
    void *handle = dlopen(name, RTLD_NOW);
    if (!handle) return name;
    dlclose(handle);
  }
  return 0;
}

int main(int count, char **names) {
  pthread_t threads[8];
  void *failed, *any = 0;
  for (int i = 1; i < count; i++) pthread_create(&threads[i], 0, load, names[i]);
  for (int i = 1; i < count; i++) {
    pthread_join(threads[i], &failed);
    if (failed) any = failed;
  }
  return any ? 2 : 0;
}
