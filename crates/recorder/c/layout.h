/* The form of a raw recording, as `src/layout.rs` describes it: the two files must agree, and a test
** compares them. Every number is in the byte order of the machine that recorded. */
#ifndef PRAGMARK_LAYOUT_H
#define PRAGMARK_LAYOUT_H

#include <stdint.h>

#define RECORDING_VERSION 3
#define BYTE_ORDER_MARK 0x01020304
#define CHUNK_SIZE 65536
#define CHUNK_MAGIC 0x4b434d50
#define CHUNK_HEADER 32
#define SNAPSHOT_ENTRIES 4096
#define SNAPSHOT_TABLE 4096
#define SNAPSHOT_TAKERS 36864
#define OPEN_STATEMENTS 64
#define ORDER_CODE 32

/* The header, which is chunk 0. */
struct header {
  char magic[16];
  uint32_t version;
  uint32_t byte_order;
  uint32_t door;               /* DOOR_*: the only door to use, or DOOR_ANY */
  uint32_t redact;             /* REDACT_*: which part of the values is written */
  uint64_t key[2];             /* the key of these hashes */
  uint64_t started_monotonic;  /* ns */
  uint64_t started_wall;       /* ns since 1970 */
  uint64_t next_chunk;         /* atomic */
  uint64_t next_ticket;        /* atomic; the first commit has ticket 1 */
  uint32_t next_process;       /* atomic; the first process is number 1 */
  uint32_t next_connection;    /* atomic */
  uint32_t next_snapshot;      /* atomic */
  uint32_t sealed;             /* atomic; nothing may be recorded any more */
  uint32_t lost;               /* atomic; LOST_* bits: why processes stopped recording */
  uint32_t preloaded;          /* atomic; processes in which the constructor ran */
  uint64_t chunk_limit;        /* atomic; from this chunk on nothing is recorded, because no one has read so far; 0: no limit */
};

/* The beginning of every other chunk. */
struct chunk {
  uint32_t magic;
  uint32_t length;             /* in bytes, a multiple of CHUNK_SIZE */
  uint32_t used;               /* atomic; bytes of complete records after this header */
  uint32_t process;
  uint64_t time;               /* monotonic ns, to which the first time is relative */
  uint32_t connection;         /* to which the records belong until a CONNECTION record, or 0 */
  uint32_t reserved;
};

enum door { DOOR_ANY, DOOR_TABLE, DOOR_SYMBOL, DOOR_INTERPOSE, DOOR_EXTENSION };

enum redact { REDACT_NOTHING, REDACT_HASH, REDACT_VALUES };

enum lost { LOST_SPACE = 1, LOST_FILE = 2, LOST_MEMORY = 4, LOST_STATEMENTS = 8, LOST_COMMITS = 16, LOST_UNREAD = 32 };

enum record {
  RECORD_PROCESS = 1,
  RECORD_LIBRARY = 2,
  RECORD_CONNECTION = 3,
  RECORD_TEXT = 4,
  RECORD_BEGIN = 5,
  RECORD_END = 6,
  RECORD_COMMIT = 7,
  RECORD_CLOSE = 8,
  RECORD_NOTE = 9,
  RECORD_SETTING = 10,
  RECORD_SNAPSHOT = 11,
  RECORD_EXIT = 12,
  RECORD_FILE = 13,
  RECORD_CHANGES = 14
};

enum value {
  VALUE_NULL = 0,
  VALUE_INTEGER = 1,
  VALUE_REAL = 2,
  VALUE_TEXT = 3,
  VALUE_BLOB = 4,
  VALUE_ZEROBLOB = 5,
  VALUE_POINTER = 6,
  VALUE_HASHED_TEXT = 7,
  VALUE_HASHED_BLOB = 8,
  VALUE_OMITTED = 9,
  VALUE_EXPANDED = 10,
  VALUE_SMALL = 16             /* and above: the integer is the kind minus this */
};

enum begin { BEGIN_PREPARED = 1, BEGIN_VALUES = 2 };

enum end {
  END_AUTOCOMMIT = 1,
  END_TRANSACTION = 6,         /* two bits: 0 none, 1 read, 2 write, 3 not known */
  END_EARLY = 8,
  END_RESULT = 16,
  END_CHANGES = 32,
  END_SCANS = 64,
  END_WAITED = 128,
  END_UNKNOWN = 256,           /* the result */
  END_NO_WAITS = 512           /* whether it waited for locks is not known */
};

enum connection_flag { CONNECTION_READONLY = 1, CONNECTION_INHERITED = 2, CONNECTION_SHARED = 4 };

enum text_flag { TEXT_READONLY = 1, TEXT_SECRET = 2 };

enum library_flag { LIBRARY_EXACT = 1, LIBRARY_RESULTS = 2, LIBRARY_CHAINS = 4 };

enum note {
  NOTE_STUB = 1,               /* a library that cannot be recorded: its table leads nowhere yet */
  NOTE_REPLACED = 2,           /* the program replaced the recorder's callback */
  NOTE_SECRET = 3,             /* a key was set: values are omitted from here on */
  NOTE_OLD = 4                 /* a library older than 3.14, which has no sqlite3_trace_v2 */
};

enum snapshot_state { SNAPSHOT_TAKEN = 1, SNAPSHOT_EMPTY = 2, SNAPSHOT_FAILED = 3, SNAPSHOT_SKIPPED = 4 };

#endif
