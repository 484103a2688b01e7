/* The few forms in which compilers write `return 3040001;`, `return sqlite3_version;` and a jump through a
** pointer, for the two processors that the table door knows. On others it finds nothing. */
#include "code.h"

#include <stddef.h>
#include <string.h>

static uint32_t word_at(const uint8_t *at) {
  uint32_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

#if defined(__x86_64__)

static bool takes(const uint8_t **at, const char *bytes, size_t length) {
  if (memcmp(*at, bytes, length) != 0) return false;
  *at += length;
  return true;
}

/* Behind a landing pad and a frame, which some compiler options add. */
static const uint8_t *entered(const uint8_t *at) {
  takes(&at, "\xf3\x0f\x1e\xfa", 4);  /* endbr64 */
  takes(&at, "\x55\x48\x89\xe5", 4);  /* push rbp; mov rbp, rsp */
  return at;
}

static bool returns(const uint8_t *at) {
  takes(&at, "\x5d", 1);              /* pop rbp */
  return *at == 0xc3 || (at[0] == 0xf3 && at[1] == 0xc3) || *at == 0xe9;
}

bool returns_constant(const uint8_t *code, uint32_t *value) {
  const uint8_t *at = entered(code);
  if (*at != 0xb8 || !returns(at + 5)) return false; /* mov eax, imm32 */
  *value = word_at(at + 1);
  return true;
}

uintptr_t returns_address(const uint8_t *code, uintptr_t *loaded) {
  const uint8_t *at = entered(code);
  *loaded = 0;
  if (*at == 0xb8) return returns(at + 5) ? word_at(at + 1) : 0;
  bool lea = at[0] == 0x48 && at[1] == 0x8d && at[2] == 0x05, load = at[0] == 0x48 && at[1] == 0x8b && at[2] == 0x05;
  if (memcmp(at, "\x48\xc7\xc0", 3) == 0) return returns(at + 7) ? word_at(at + 3) : 0;
  if ((!lea && !load) || !returns(at + 7)) return 0;
  uintptr_t target = (uintptr_t)(at + 7) + (uintptr_t)(intptr_t)(int32_t)word_at(at + 3);
  if (load) *loaded = target;
  return target;
}

uintptr_t jumps_through(const uint8_t *code) {
  const uint8_t *at = entered(code);
  if (*at == 0xf2) at++;              /* bnd */
  bool jump = at[0] == 0xff && at[1] == 0x25;
  if (jump) return (uintptr_t)(at + 6) + (uintptr_t)(intptr_t)(int32_t)word_at(at + 2);
  /* mov rax, [rip + distance], followed within a few instructions by a jump to what was loaded */
  if (at[0] != 0x48 || at[1] != 0x8b || at[2] != 0x05) return 0;
  uintptr_t from = (uintptr_t)(at + 7) + (uintptr_t)(intptr_t)(int32_t)word_at(at + 3);
  for (const uint8_t *next = at + 7; next < at + 24; next++)
    if (next[0] == 0xff && (next[1] == 0xe0 || next[1] == 0x60 || next[1] == 0xa0)) return from;
  return 0;
}

/* Functions of Go begin by comparing the stack pointer, or one below it in r12, with a limit at r14. */
bool is_go(const uint8_t *code) {
  for (const uint8_t *at = code; at < code + 16; at++)
    if (memcmp(at, "\x49\x3b\x66\x10", 4) == 0 || memcmp(at, "\x4d\x3b\x66\x10", 4) == 0) return true;
  return false;
}

#elif defined(__aarch64__)

static const uint8_t *entered(const uint8_t *at) {
  return word_at(at) == 0xd503245f ? at + 4 : at; /* bti c */
}

#define RETURN 0xd65f03c0

bool returns_constant(const uint8_t *code, uint32_t *value) {
  const uint8_t *at = entered(code);
  uint32_t low = word_at(at), high = word_at(at + 4);
  if ((low & 0xffe0001f) != 0x52800000) return false;  /* movz w0, #low */
  if ((high & 0xffe0001f) != 0x72a00000) return false; /* movk w0, #high, lsl 16 */
  if (word_at(at + 8) != RETURN) return false;
  *value = ((low >> 5) & 0xffff) | ((high >> 5) & 0xffff) << 16;
  return true;
}

/* The page that an ADRP instruction at an address means. */
static uintptr_t page_of(const uint8_t *at) {
  uint32_t word = word_at(at);
  int64_t pages = (int64_t)((((uint64_t)word >> 5 & 0x7ffff) << 2 | (word >> 29 & 3)) << 43) >> 43;
  return ((uintptr_t)at & ~(uintptr_t)0xfff) + (uintptr_t)(pages * 4096);
}

uintptr_t returns_address(const uint8_t *code, uintptr_t *loaded) {
  const uint8_t *at = entered(code);
  uint32_t first = word_at(at), second = word_at(at + 4);
  *loaded = 0;
  if ((first & 0x9f00001f) != 0x90000000 || word_at(at + 8) != RETURN) return 0; /* adrp x0 */
  if ((second & 0xffc003ff) == 0x91000000) return page_of(at) + (second >> 10 & 0xfff); /* add x0, x0 */
  if ((second & 0xffc003ff) != 0xf9400000) return 0; /* ldr x0, [x0] */
  return *loaded = page_of(at) + (second >> 10 & 0xfff) * 8;
}

uintptr_t jumps_through(const uint8_t *code) {
  const uint8_t *at = entered(code);
  uint32_t first = word_at(at);
  if ((first & 0x9f000000) != 0x90000000) return 0;
  for (const uint8_t *next = at + 4; next < at + 20; next += 4) {
    uint32_t word = word_at(next);
    /* ldr from the page in the register of adrp */
    if ((word & 0xffc00000) == 0xf9400000 && (word >> 5 & 31) == (first & 31)) {
      for (const uint8_t *jump = next + 4; jump < at + 24; jump += 4)
        if ((word_at(jump) & 0xfffffc1f) == 0xd61f0000) return page_of(at) + (word >> 10 & 0xfff) * 8;
      return 0;
    }
  }
  return 0;
}

/* Functions of Go begin by loading the limit of their stack from where x28 points. */
bool is_go(const uint8_t *code) {
  for (const uint8_t *at = code; at < code + 16; at += 4)
    if (word_at(at) == 0xf9400b90) return true; /* ldr x16, [x28, 16] */
  return false;
}

#else

bool is_go(const uint8_t *code) { (void)code; return false; }
bool returns_constant(const uint8_t *code, uint32_t *value) { (void)code, (void)value; return false; }
uintptr_t returns_address(const uint8_t *code, uintptr_t *loaded) { (void)code, *loaded = 0; return 0; }
uintptr_t jumps_through(const uint8_t *code) { (void)code; return 0; }

#endif
