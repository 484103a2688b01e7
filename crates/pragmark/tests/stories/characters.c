/* A tokenizer as users of Chinese, Japanese and Korean load one: every character outside ASCII is a word
 * of its own, letters and digits of ASCII make words as usual. */

#include <ctype.h>
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

enum { LONGEST = 64 };

typedef int Token(void *, int, const char *, int, int, int);

static int is_word(unsigned char byte) { return byte < 0x80 && isalnum(byte); }

/* The end of the word or character that begins at `start`. */
static int end_of(const char *text, int length, int start) {
    int end = start + 1;
    if (is_word(text[start])) {
        while (end < length && end - start < LONGEST && is_word(text[end])) end++;
    } else {
        while (end < length && (text[end] & 0xc0) == 0x80) end++;
    }
    return end;
}

static int tokenize(Fts5Tokenizer *tokenizer, void *context, int flags, const char *text, int length,
                    Token *token) {
    (void)tokenizer, (void)flags;
    int code = SQLITE_OK;
    for (int start = 0, end; start < length && code == SQLITE_OK; start = end) {
        end = end_of(text, length, start);
        char word[LONGEST];
        for (int at = start; at < end; at++) word[at - start] = tolower((unsigned char)text[at]);
        if (is_word(text[start]) || (unsigned char)text[start] >= 0x80)
            code = token(context, 0, word, end - start, start, end);
    }
    return code;
}

static int create(void *unused, const char **arguments, int count, Fts5Tokenizer **made) {
    static int no_state;
    (void)unused, (void)arguments;
    *made = (Fts5Tokenizer *)&no_state;
    return count == 0 ? SQLITE_OK : SQLITE_ERROR;
}

static void destroy(Fts5Tokenizer *tokenizer) { (void)tokenizer; }

static fts5_api *full_text(sqlite3 *database) {
    fts5_api *found = 0;
    sqlite3_stmt *statement = 0;
    if (sqlite3_prepare_v2(database, "SELECT fts5(?1)", -1, &statement, 0) == SQLITE_OK) {
        sqlite3_bind_pointer(statement, 1, &found, "fts5_api_ptr", 0);
        sqlite3_step(statement);
    }
    sqlite3_finalize(statement);
    return found;
}

int sqlite3_extension_init(sqlite3 *database, char **message, const sqlite3_api_routines *routines) {
    SQLITE_EXTENSION_INIT2(routines);
    fts5_tokenizer characters = {create, destroy, tokenize};
    fts5_api *api = full_text(database);
    (void)message;
    return api ? api->xCreateTokenizer(api, "characters", 0, &characters, 0) : SQLITE_ERROR;
}
