/* The texts of statements, each of which a process writes once. A connection remembers which text its
** latest statements had, so the table behind it is searched only for statements that are new. */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

/* Programs that put their values into the text have a new text for each statement: those beyond these
** bounds are written with each execution. */
#define MOST_TEXTS 50000
#define MOST_BYTES (32u << 20)

struct text {
  uint64_t hash;
  bool secret;                 /* written without its values */
  char *copy;
  uint32_t id;
};

static struct text *table;
static size_t capacity, used, bytes;
static int generation;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash_of(const char *text, size_t length) {
  uint64_t hash = length * 0x9e3779b97f4a7c15u;
  for (; length >= 8; text += 8, length -= 8) {
    uint64_t word;
    memcpy(&word, text, 8);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  for (; length > 0; text++, length--) hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
  return hash ^ (hash >> 29);
}

static bool is_same(const struct text *it, uint64_t hash, bool secret, const char *text) {
  return it->hash == hash && it->secret == secret && strcmp(it->copy, text) == 0;
}

static struct text *slot_of(struct text *in, size_t size, uint64_t hash, bool secret, const char *text) {
  size_t at = hash & (size - 1);
  while (in[at].copy && !is_same(&in[at], hash, secret, text)) at = (at + 1) & (size - 1);
  return &in[at];
}

static bool grow(void) {
  size_t larger = capacity ? capacity * 2 : 256;
  struct text *copy = calloc(larger, sizeof *copy);
  if (!copy) return false;
  for (size_t i = 0; i < capacity; i++)
    if (table[i].copy) *slot_of(copy, larger, table[i].hash, table[i].secret, table[i].copy) = table[i];
  free(table);
  table = copy;
  capacity = larger;
  return true;
}

/* Writes a text with the number by which executions refer to it. */
static bool write_text(struct connection *connection, sqlite3_stmt *statement, uint32_t id, const char *text,
                       size_t length) {
  bool hides = hides_text(connection);
  char *hidden = hides ? hidden_text(connection, text) : NULL;
  if (hides && !hidden) return false;
  if (hidden) length = strlen(hidden);
  uint8_t *at = reserve(&connection->writer, 32 + length);
  if (!at) return free(hidden), false;
  *at++ = RECORD_TEXT;
  at = put(at, id);
  *at++ = (uint8_t)((connection->library->stmt_readonly(statement) ? TEXT_READONLY : 0) |
                    (connection->secret ? TEXT_SECRET : 0));
  publish(&connection->writer, put_bytes(at, hidden ? hidden : text, length));
  free(hidden);
  return true;
}

/* The number of a text, or 0 when it has none and cannot get one. */
static const struct text *interned(struct connection *connection, sqlite3_stmt *statement, const char *text) {
  size_t length = strlen(text);
  uint64_t hash = hash_of(text, length);
  if (generation != process.generation) {
    used = bytes = 0;
    generation = process.generation;
  }
  if (used * 2 >= capacity && !grow()) return NULL;
  bool secret = connection->secret;
  struct text *slot = slot_of(table, capacity, hash, secret, text);
  if (slot->copy) return slot;
  if (used >= MOST_TEXTS || bytes + length > MOST_BYTES) return NULL;
  char *copy = malloc(length + 1);
  if (!copy) return NULL;
  memcpy(copy, text, length + 1);
  if (!write_text(connection, statement, (uint32_t)used + 1, text, length)) return free(copy), NULL;
  *slot = (struct text){hash, secret, copy, (uint32_t)++used};
  bytes += length;
  return slot;
}

static struct cached_text *cached(struct connection *connection, sqlite3_stmt *statement) {
  if (!connection->cache) connection->cache = calloc(CACHED_TEXTS, sizeof *connection->cache);
  if (!connection->cache) return NULL;
  uintptr_t address = (uintptr_t)statement;
  return &connection->cache[((address >> 4) ^ (address >> 11)) % CACHED_TEXTS];
}

/* The number of a statement's text in this process, written before if it is new; 0 when it has none. */
uint32_t text_id(struct connection *connection, sqlite3_stmt *statement, const char *text) {
  struct cached_text *entry = cached(connection, statement);
  /* Another statement may have the address of one that is gone, so its text is compared. */
  if (entry && entry->statement == statement && strcmp(entry->text, text) == 0) return entry->id;
  pthread_mutex_lock(&lock);
  const struct text *slot = interned(connection, statement, text);
  uint32_t id = slot ? slot->id : 0;
  if (entry && slot) *entry = (struct cached_text){statement, slot->copy, id};
  pthread_mutex_unlock(&lock);
  return id;
}

/* Has a connection that hides its values from now on look up its texts anew. */
void forget_cached(struct connection *connection) {
  if (connection->cache) memset(connection->cache, 0, CACHED_TEXTS * sizeof *connection->cache);
}

/* In the child of a fork, which numbers its texts itself. Copies stay where they are: caches of the parent's
** connections still point at them. */
void forget_texts(void) {
  pthread_mutex_init(&lock, NULL);
  table = NULL;
  capacity = 0;
}
