/* What a few instructions do, read without executing them (code.c). */
#ifndef PRAGMARK_CODE_H
#define PRAGMARK_CODE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the code at an address only returns a constant, which is then in `*value`. */
bool returns_constant(const uint8_t *code, uint32_t *value) __attribute__((visibility("hidden")));
/* The address that the code returns without computing or loading more than a pointer, or 0. If it loads the
** address from memory, `*loaded` is where. */
uintptr_t returns_address(const uint8_t *code, uintptr_t *loaded) __attribute__((visibility("hidden")));
/* Whether the code was compiled from Go, whose functions cannot be called from C. */
bool is_go(const uint8_t *code) __attribute__((visibility("hidden")));
/* Where the code has the address to which it jumps at once, or 0 if it does not begin with such a jump. */
uintptr_t jumps_through(const uint8_t *code) __attribute__((visibility("hidden")));

#endif
