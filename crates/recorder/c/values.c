/* The values bound to a statement, as they are where the library's shape is known (shape.c), otherwise the
** text of the statement with its values in place. */
#include "recorder.h"

#include <string.h>

/* Flags of a value that have been the same in all versions of SQLite 3. */
enum { IS_NULL = 1, IS_TEXT = 2, IS_INTEGER = 4, IS_REAL = 8, IS_BLOB = 16 };
#define UTF8 1

/* One bound value, taken apart. */
struct parameter {
  uint16_t flags;
  uint8_t encoding;
  int64_t integer;
  const void *bytes;
  int32_t length;
};

static struct parameter parameter(const struct shape *shape, sqlite3_stmt *statement, int index) {
  const uint8_t *first, *at;
  struct parameter it;
  memcpy(&first, (const uint8_t *)statement + shape->parameters, sizeof first);
  at = first + (size_t)index * (size_t)shape->stride;
  memcpy(&it.flags, at + shape->flags, sizeof it.flags);
  it.encoding = at[shape->flags + 2];
  memcpy(&it.integer, at + shape->value, sizeof it.integer);
  memcpy(&it.bytes, at + shape->bytes, sizeof it.bytes);
  memcpy(&it.length, at + shape->length, sizeof it.length);
  return it;
}

/* Texts of UTF-16 databases are recorded expanded: SQLite converts them exactly, and they are rare. */
static bool is_exact(const struct shape *shape, sqlite3_stmt *statement, int count) {
  if (shape->parameters < 0) return false;
  for (int i = 0; i < count; i++) {
    struct parameter it = parameter(shape, statement, i);
    if ((it.flags & IS_TEXT) && it.encoding != UTF8) return false;
  }
  return true;
}

/* The most bytes that the values take, with the expanded text if that stands for them. */
size_t values_bound(struct connection *connection, sqlite3_stmt *statement, int count, char **expanded) {
  const struct shape *shape = &connection->library->shape;
  *expanded = NULL;
  if (connection->secret || count == 0) return 16 + (size_t)count;
  if (!is_exact(shape, statement, count)) {
    if (!process.header->redact) *expanded = connection->library->expanded_sql(statement);
    return 32 + (size_t)count + (*expanded ? strlen(*expanded) : 0);
  }
  size_t bound = 16;
  for (int i = 0; i < count; i++) {
    struct parameter it = parameter(shape, statement, i);
    bound += 64 + ((it.flags & (IS_TEXT | IS_BLOB)) && it.length > 0 ? (size_t)it.length : 0);
  }
  return bound;
}

static uint8_t *put_integer(uint8_t *at, int64_t value) {
  if (value >= 0 && value < 256 - VALUE_SMALL) {
    *at++ = (uint8_t)(VALUE_SMALL + value);
    return at;
  }
  *at++ = VALUE_INTEGER;
  return put(at, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

/* A text or a blob, or its hash, its order and its length. */
static uint8_t *put_string(uint8_t *at, const struct parameter *it, bool is_text) {
  size_t length = it->length > 0 && it->bytes ? (size_t)it->length : 0;
  if (!process.header->redact) {
    *at++ = is_text ? VALUE_TEXT : VALUE_BLOB;
    return put_bytes(at, it->bytes, length);
  }
  uint64_t hash = keyed_hash(process.header->key, it->bytes, length);
  *at++ = is_text ? VALUE_HASHED_TEXT : VALUE_HASHED_BLOB;
  at = put(at, length);
  memcpy(at, &hash, sizeof hash);
  put_order_code(at + sizeof hash, it->bytes, length);
  return at + sizeof hash + ORDER_CODE;
}

static uint8_t *put_value(uint8_t *at, const struct shape *shape, const struct parameter *it) {
  if (it->flags & IS_NULL) {
    bool pointer = shape->pointer_flags && (it->flags & shape->pointer_flags) == shape->pointer_flags;
    *at++ = pointer ? VALUE_POINTER : VALUE_NULL;
    return at;
  }
  if (it->flags & IS_TEXT) return put_string(at, it, true);
  if (it->flags & IS_INTEGER) return put_integer(at, it->integer);
  if (it->flags & IS_REAL) {
    *at++ = VALUE_REAL;
    memcpy(at, &it->integer, 8);
    return at + 8;
  }
  if ((it->flags & IS_BLOB) && (it->flags & shape->zero_flag) && it->length == 0) {
    *at++ = VALUE_ZEROBLOB;
    return put(at, (uint32_t)it->integer);
  }
  if (it->flags & IS_BLOB) return put_string(at, it, false);
  *at++ = VALUE_OMITTED;
  return at;
}

/* Writes the values, of which `values_bound` has said how long they are at most. */
uint8_t *put_values(uint8_t *at, struct connection *connection, sqlite3_stmt *statement, int count,
                    char *expanded) {
  const struct shape *shape = &connection->library->shape;
  if (expanded) {
    at = put(at, 1);
    *at++ = VALUE_EXPANDED;
    return put_bytes(at, expanded, strlen(expanded));
  }
  at = put(at, (uint64_t)count);
  bool known = !connection->secret && is_exact(shape, statement, count);
  for (int i = 0; i < count; i++) {
    if (!known) {
      *at++ = VALUE_OMITTED;
      continue;
    }
    struct parameter it = parameter(shape, statement, i);
    at = put_value(at, shape, &it);
  }
  return at;
}
