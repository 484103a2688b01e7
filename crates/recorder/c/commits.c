/* The functions that SQLite calls before a commit, one for each connection.
**
** A commit hook gets one argument, and that stays the program's: sqlite3_commit_hook() returns it to the program,
** which may free it. What ran last on the thread does not say which connection commits either: a statement with rows
** commits at its last step, and the program may have used another connection, or another thread, since the step
** before. So the function itself stands for the connection. */
#include "recorder.h"

#define HOOKS 512

static struct connection *connections[HOOKS];

/* What each of the functions below calls, with its own number. */
__attribute__((visibility("hidden"), used)) int on_numbered_commit(void *argument, int number) {
  return on_commit(connections[number], argument);
}

#if defined(__x86_64__) || defined(__aarch64__)

/* Functions of sixteen bytes each: in C they would take up more space than the rest of the recorder. */
#if defined(__x86_64__)
#define HOOK "endbr64\n movl $number, %esi\n jmp on_numbered_commit\n"
#else
#define HOOK "hint #34\n mov w1, #number\n b on_numbered_commit\n"
#endif
#define HOOK_BYTES 16
INTERNAL extern const char commit_hooks[];
__asm__(".text\n .balign 16\n .hidden commit_hooks\n .globl commit_hooks\n commit_hooks:\n"
        ".set number, 0\n .rept 512\n .balign 16\n" HOOK ".set number, number + 1\n .endr\n .balign 16\n");

static int (*hook(int number))(void *) { return (int (*)(void *))(commit_hooks + number * HOOK_BYTES); }

#else

#define SIXTEEN(F, digits) \
  F(digits##0) F(digits##1) F(digits##2) F(digits##3) F(digits##4) F(digits##5) F(digits##6) F(digits##7) \
  F(digits##8) F(digits##9) F(digits##a) F(digits##b) F(digits##c) F(digits##d) F(digits##e) F(digits##f)
#define MANY(F, digits) \
  SIXTEEN(F, digits##0) SIXTEEN(F, digits##1) SIXTEEN(F, digits##2) SIXTEEN(F, digits##3) \
  SIXTEEN(F, digits##4) SIXTEEN(F, digits##5) SIXTEEN(F, digits##6) SIXTEEN(F, digits##7) \
  SIXTEEN(F, digits##8) SIXTEEN(F, digits##9) SIXTEEN(F, digits##a) SIXTEEN(F, digits##b) \
  SIXTEEN(F, digits##c) SIXTEEN(F, digits##d) SIXTEEN(F, digits##e) SIXTEEN(F, digits##f)
#define ALL(F) MANY(F, 0x0) MANY(F, 0x1)

#define FUNCTION(number) \
  static int hook_##number(void *argument) { return on_numbered_commit(argument, number); }
ALL(FUNCTION)

#define NAME(number) hook_##number,
static int (*const hooks[HOOKS])(void *) = {ALL(NAME)};

static int (*hook(int number))(void *) { return hooks[number]; }

#endif

/* Gives a connection a function of its own if it has none; false when all are in use. */
bool takes_hook(struct connection *it) {
  pthread_mutex_lock(&process.lock);
  for (int i = 0; !it->commit && i < HOOKS; i++)
    if (!connections[i]) connections[i] = it, it->commit = hook(i);
  pthread_mutex_unlock(&process.lock);
  if (!it->commit) __atomic_fetch_or(&process.header->lost, LOST_COMMITS, __ATOMIC_RELAXED);
  return it->commit;
}

/* Gives it back. */
void leave_hook(struct connection *it) {
  pthread_mutex_lock(&process.lock);
  for (int i = 0; it->commit && i < HOOKS; i++)
    if (connections[i] == it) connections[i] = NULL, it->commit = NULL;
  pthread_mutex_unlock(&process.lock);
}
