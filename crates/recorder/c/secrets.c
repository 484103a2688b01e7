/* What must not get into a recording: keys, the values of connections that have one, and texts when hashes
** of them are wanted instead. */
#define _GNU_SOURCE
#include "recorder.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The part of a text after white space and comments. */
static const char *skipped(const char *at) {
  for (;;) {
    while (isspace((unsigned char)*at)) at++;
    if (at[0] == '-' && at[1] == '-') {
      while (*at && *at != '\n') at++;
    } else if (at[0] == '/' && at[1] == '*') {
      const char *end = strstr(at + 2, "*/");
      at = end ? end + 2 : at + strlen(at);
    } else {
      return at;
    }
  }
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

/* Whether the text begins with this word; moves behind it. */
static bool takes(const char **at, const char *word) {
  size_t length = strlen(word);
  if (strncasecmp(*at, word, length) != 0 || is_word((*at)[length])) return false;
  *at = skipped(*at + length);
  return true;
}

/* The first word of a statement: empty statements before it belong to its text. */
static const char *first_word(const char *sql) {
  const char *at = skipped(sql);
  while (*at == ';') at = skipped(at + 1);
  return at;
}

/* The end of a name or a text in quotes, which are doubled within it; within brackets nothing is. */
static const char *quoted_end(const char *at) {
  char quote = *at++;
  if (quote == '[') quote = ']';
  for (; *at; at++) {
    if (*at != quote) continue;
    if (at[1] != quote || quote == ']') return at + 1;
    at++;
  }
  return at;
}

static bool is_quote(char c) { return c == '\'' || c == '"' || c == '`' || c == '['; }

static const char *name_end(const char *at) {
  if (is_quote(*at)) return quoted_end(at);
  while (is_word(*at)) at++;
  return at;
}

/* Whether this is the name between two places, in quotes or not. */
static bool is_name(const char *at, const char *end, const char *name) {
  if (is_quote(*at)) at++, end--;
  return (size_t)(end - at) == strlen(name) && strncasecmp(at, name, strlen(name)) == 0;
}

/* Whether a PRAGMA, from behind this word on, sets a key. */
static bool is_key_pragma(const char *at) {
  static const char *const names[] = {"key", "rekey", "hexkey", "hexrekey", "textkey", "textrekey"};
  const char *end = name_end(at);
  if (*skipped(end) == '.') {
    at = skipped(skipped(end) + 1);
    end = name_end(at);
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (is_name(at, end, names[i])) return true;
  return false;
}

/* Where the key of a statement begins that may set one: behind the equals sign, the parenthesis or the word KEY. */
static const char *key_begin(const char *sql) {
  bool is_pragma = (*first_word(sql) | 32) == 'p';
  char before = ' ';
  for (const char *at = first_word(sql); *at; before = *at++) {
    if (is_quote(*at)) at = quoted_end(at) - 1;
    else if ((at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*')) at = skipped(at) - 1;
    else if (is_pragma && (*at == '=' || *at == '(')) return at + 1;
    else if (!is_pragma && !is_word(before) && strncasecmp(at, "key", 3) == 0 && !is_word(at[3])) return at + 3;
  }
  return NULL;
}

/* Whether a statement adds a database to its connection. */
bool is_attach(const char *sql) {
  const char *at = first_word(sql);
  return takes(&at, "attach");
}

/* Whether a statement gives a key to a database: some libraries also take it from the name of the file. */
bool sets_key(const char *sql) {
  const char *at = first_word(sql);
  if ((*at | 32) != 'p' && (*at | 32) != 'a') return false;
  if (takes(&at, "attach")) return key_begin(sql) || strcasestr(at, "key=");
  return takes(&at, "pragma") && is_key_pragma(at);
}

/* SipHash-2-4: without its key, which is not kept, nobody can try out texts. */
#define ROTATED(x, n) ((x) << (n) | (x) >> (64 - (n)))
#define ROUND(a, b, c, d) \
  (a += b, b = ROTATED(b, 13) ^ a, a = ROTATED(a, 32), c += d, d = ROTATED(d, 16) ^ c, \
   a += d, d = ROTATED(d, 21) ^ a, c += b, b = ROTATED(b, 17) ^ c, c = ROTATED(c, 32))

uint64_t keyed_hash(const uint64_t key[2], const void *bytes, size_t length) {
  uint64_t a = key[0] ^ 0x736f6d6570736575u, b = key[1] ^ 0x646f72616e646f6du;
  uint64_t c = key[0] ^ 0x6c7967656e657261u, d = key[1] ^ 0x7465646279746573u;
  const uint8_t *at = bytes;
  for (size_t left = length;; at += 8, left -= 8) {
    uint64_t word = left < 8 ? (uint64_t)length << 56 : 0;
    if (left > 0) memcpy(&word, at, left < 8 ? left : 8);
    d ^= word, ROUND(a, b, c, d), ROUND(a, b, c, d), a ^= word;
    if (left < 8) break;
  }
  c ^= 0xff;
  for (int i = 0; i < 4; i++) ROUND(a, b, c, d);
  return a ^ b ^ c ^ d;
}

/* How many bytes at the beginning of a text decide its order: each takes two bytes of the code. */
#define ORDER_BYTES (ORDER_CODE / 2)

/* For each of these bytes: numbers in the order of bytes, that of the end of the text first, which only the key gives
** away. */
static uint16_t ranks[ORDER_BYTES][257];
static pthread_once_t ranked = PTHREAD_ONCE_INIT;

static void rank_bytes(void) {
  for (uint16_t i = 0; i < ORDER_BYTES; i++) {
    uint16_t sum = 0;
    for (uint16_t byte = 0; byte < 257; byte++) {
      uint16_t at[2] = {i, byte};
      sum = (uint16_t)(sum + 1 + keyed_hash(process.header->key, at, sizeof at) % 254);
      ranks[i][byte] = sum;
    }
  }
}

/* Writes a code that is larger, byte by byte, where the first bytes of a text come later. */
void put_order_code(uint8_t code[ORDER_CODE], const void *bytes, size_t length) {
  pthread_once(&ranked, rank_bytes);
  for (size_t i = 0; i < ORDER_BYTES; i++) {
    uint16_t rank = ranks[i][i < length ? ((const uint8_t *)bytes)[i] + 1 : 0];
    code[2 * i] = (uint8_t)(rank >> 8);
    code[2 * i + 1] = (uint8_t)rank;
  }
}

static int digit(char c) { return c <= '9' ? c - '0' : (c | 32) - 'a' + 10; }

/* What a literal stands for, without its quotes; returns the length. */
static size_t put_content(char *to, const char *from, const char *end) {
  char *at = to, quote = *from;
  if ((quote | 32) == 'x') {
    for (from += 2; from + 1 < end - 1 && isxdigit((unsigned char)from[0]) && isxdigit((unsigned char)from[1]); from += 2)
      *at++ = (char)(digit(from[0]) << 4 | digit(from[1]));
    return (size_t)(at - to);
  }
  for (from++; from < end - 1; from++) {
    *at++ = *from;
    if (*from == quote) from++;
  }
  return (size_t)(at - to);
}

static char *put_literal(char *to, const char *from, const char *end, bool omitted) {
  if (omitted) {
    *to++ = '?';
    return to;
  }
  size_t length = put_content(to, from, end);
  unsigned long long hash = keyed_hash(process.header->key, to, length);
  uint8_t code[ORDER_CODE];
  put_order_code(code, to, length);
  to += sprintf(to, "'#%016llx:%zu:%c", hash, length, (*from | 32) == 'x' ? 'b' : 't');
  for (int i = 0; i < ORDER_CODE; i++) to += sprintf(to, "%02x", code[i]);
  *to++ = '\'';
  return to;
}

/* Whether a name in double quotes may be a text: SQLite takes it for one where nothing has this name. With `all`
** every name may, otherwise those that are no single word. */
static bool may_be_text(const char *at, const char *end, bool all) {
  for (at++; !all && at < end - 1; at++)
    if (!is_word(*at)) return true;
  return all;
}

/* The end of the literal that begins here, or NULL. With `numbers`, names in double quotes and numbers are some. */
static const char *literal_end(const char *at, char before, bool numbers) {
  if (*at == '\'') return quoted_end(at);
  if (*at == '"') return may_be_text(at, quoted_end(at), numbers) ? quoted_end(at) : NULL;
  if (is_word(before)) return NULL;
  if ((*at | 32) == 'x' && at[1] == '\'') return quoted_end(at + 1);
  if (!numbers || !isdigit((unsigned char)*at) || before == '?') return NULL;
  while (is_word(*at) || *at == '.' || ((*at == '+' || *at == '-') && (at[-1] | 32) == 'e')) at++;
  return at;
}

/* A statement up to `stop` whose texts and blobs are hashed or, with `all`, whose literals are left out; the caller
** frees it. */
static char *without_literals(const char *sql, const char *stop, bool all) {
  /* The longest replacement of a literal of two bytes has 42 and the code. */
  char *copy = malloc((size_t)(stop - sql) * (21 + ORDER_CODE) + 64), *to = copy, before = ' ';
  if (!copy) return NULL;
  for (const char *at = sql; at < stop;) {
    const char *end = literal_end(at, before, all);
    if (end) {
      to = put_literal(to, at, end, all);
      before = '\'';
      at = end;
      continue;
    }
    end = is_quote(*at) ? quoted_end(at) : at + 1;
    /* Comments may quote values. */
    if ((at[0] == '-' && at[1] == '-') || (at[0] == '/' && at[1] == '*')) {
      at = skipped(at);
      *to++ = before = ' ';
      continue;
    }
    before = end[-1];
    memcpy(to, at, (size_t)(end - at));
    to += end - at;
    at = end;
  }
  *to = 0;
  return copy;
}

/* Whether something else is written than the texts of statements. */
bool hides_text(const struct connection *connection) { return connection->secret || process.header->redact; }

/* What is written instead of a text, which the caller frees; NULL if there is no memory for it. */
char *hidden_text(const struct connection *connection, const char *sql) {
  const char *key = sets_key(sql) ? key_begin(sql) : NULL;
  char *copy = without_literals(sql, key ? key : sql + strlen(sql), connection->secret);
  /* The copy has room for more than this. */
  if (copy && key) strcat(copy, key[-1] == '(' ? "?)" : " ?");
  return copy;
}
