/* The mapped file: the header that all processes share, and the chunks into which records go.
**
** A chunk belongs to one writer, so writing takes no lock; `used` in the chunk is stored after the
** record, so a process that is killed loses at most the record it was writing. The disk space of a chunk
** is allocated before it is mapped: a mapped hole would end the program with SIGBUS on a full disk. The
** file is opened for each chunk, because programs close descriptors that are not theirs. */
#define _GNU_SOURCE
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct process process = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Parts of chunks that closed connections have left, for the next connections. */
#define SPARES 8
static struct writer spares[SPARES];
static int spare_count;

/* What the process itself has to say. */
static struct writer own_writer;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static int open_recording(void) {
  char path[sizeof process.folder + 8];
  snprintf(path, sizeof path, "%s/raw", process.folder);
  return open(path, O_RDWR | O_CLOEXEC);
}

/* Maps the header of the recording in a folder; false if there is none. */
bool file_open(const char *folder) {
  snprintf(process.folder, sizeof process.folder, "%s", folder);
  int file = open_recording();
  if (file < 0) return false;
  struct header *header =
      mmap(NULL, CHUNK_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  off_t length = lseek(file, 0, SEEK_END);
  close(file);
  if (header == MAP_FAILED) return false;
  if (length < CHUNK_SIZE || memcmp(header->magic, "pragmark-record", 16) != 0 ||
      header->version != RECORDING_VERSION || header->byte_order != BYTE_ORDER_MARK) {
    munmap(header, CHUNK_SIZE);
    return false;
  }
  process.header = header;
  process.active = !__atomic_load_n(&header->sealed, __ATOMIC_RELAXED);
  process.generation = 1;
  return process.active;
}

/* Records nothing more in this process, and says why. */
void stop(enum lost reason) {
  process.active = false;
  __atomic_fetch_or(&process.header->lost, reason, __ATOMIC_RELAXED);
}

/* Maps new disk space of whole chunks, or returns NULL. */
static struct chunk *new_space(size_t length) {
  uint64_t index = __atomic_fetch_add(&process.header->next_chunk, length / CHUNK_SIZE, __ATOMIC_RELAXED);
  uint64_t limit = __atomic_load_n(&process.header->chunk_limit, __ATOMIC_RELAXED);
  if (limit > 0 && index >= limit) return stop(LOST_UNREAD), NULL;
  int file = open_recording();
  if (file < 0) return stop(LOST_FILE), NULL;
  off_t offset = (off_t)(index * CHUNK_SIZE);
  struct chunk *chunk = NULL;
  if (posix_fallocate(file, offset, (off_t)length) == 0) {
    chunk = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, offset);
    if (chunk == MAP_FAILED) chunk = NULL;
  }
  close(file);
  if (!chunk) stop(LOST_SPACE);
  return chunk;
}

uint8_t *put(uint8_t *at, uint64_t number) {
  for (; number >= 0x80; number >>= 7) *at++ = (uint8_t)(number | 0x80);
  *at++ = (uint8_t)number;
  return at;
}

uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t length) {
  at = put(at, length);
  if (length > 0) memcpy(at, bytes, length);
  return at + length;
}

/* The time since the writer's last record. */
uint8_t *put_time(uint8_t *at, struct writer *writer) {
  uint64_t time = now();
  at = put(at, time - writer->time);
  writer->time = time;
  return at;
}

/* The command line of this process, its arguments ended by NULs; returns its length. */
static size_t command_line(char *buffer, size_t size) {
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  ssize_t length = read(file, buffer, size);
  close(file);
  return length > 0 ? (size_t)length : 0;
}

/* The first record of a process, which numbers it. */
static uint8_t *put_process(uint8_t *at) {
  char program[1024], arguments[2048];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  *at++ = RECORD_PROCESS;
  at = put(at, (uint64_t)getpid());
  at = put(at, (uint64_t)getppid());
  at = put_bytes(at, program, length > 0 ? (size_t)length : 0);
  /* Arguments may be statements with their values. */
  size_t kept = process.header->redact ? 0 : command_line(arguments, sizeof arguments);
  return put_bytes(at, arguments, kept);
}
#define PROCESS_BOUND 4096

static bool is_first_of_process(void) {
  pthread_mutex_lock(&process.lock);
  bool first = process.number == 0;
  if (first) process.number = __atomic_add_fetch(&process.header->next_process, 1, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&process.lock);
  return first;
}

/* Gives the writer space for a record of so many bytes. */
static bool next_chunk(struct writer *writer, size_t bytes) {
  bool first = is_first_of_process();
  size_t needed = sizeof(struct chunk) + bytes + (first ? PROCESS_BOUND : 0);
  size_t length = (needed + CHUNK_SIZE - 1) / CHUNK_SIZE * CHUNK_SIZE;
  if (length < needed || length > UINT32_MAX / 2) return stop(LOST_SPACE), false;
  struct chunk *chunk = new_space(length);
  if (!chunk) return false;
  if (writer->chunk && writer->generation == process.generation)
    munmap(writer->chunk, writer->chunk->length);
  writer->chunk = chunk;
  writer->generation = process.generation;
  writer->used = sizeof *chunk;
  writer->time = now();
  *chunk = (struct chunk){.length = (uint32_t)length, .process = process.number,
                          .time = writer->time, .connection = writer->connection};
  /* A reader that looks into a chunk in use must not see the mark before the rest. */
  __atomic_store_n(&chunk->magic, CHUNK_MAGIC, __ATOMIC_RELEASE);
  if (first) publish(writer, put_process((uint8_t *)chunk + writer->used));
  return true;
}

/* Space for a record of at most so many bytes, or NULL when nothing is recorded any more. */
uint8_t *reserve(struct writer *writer, size_t bytes) {
  if (!process.active) return NULL;
  bool fits = writer->chunk && writer->generation == process.generation &&
              writer->used + bytes <= writer->chunk->length;
  if (!fits) {
    /* The program may look at errno after a call that succeeded. */
    int saved = errno;
    if (__atomic_load_n(&process.header->sealed, __ATOMIC_RELAXED)) process.active = false;
    bool given = process.active && next_chunk(writer, bytes);
    errno = saved;
    if (!given) return NULL;
  }
  return (uint8_t *)writer->chunk + writer->used;
}

/* Makes the record that ends here a part of the recording. */
void publish(struct writer *writer, const uint8_t *end) {
  writer->used = (uint32_t)(end - (const uint8_t *)writer->chunk);
  __atomic_store_n(&writer->chunk->used, writer->used - (uint32_t)sizeof(struct chunk), __ATOMIC_RELEASE);
}

/* Leaves the rest of a chunk to the next connection. */
void release(struct writer *writer) {
  if (!writer->chunk || writer->generation != process.generation) return;
  pthread_mutex_lock(&process.lock);
  bool kept = spare_count < SPARES && writer->used + 4096 < writer->chunk->length;
  if (kept) spares[spare_count++] = *writer;
  pthread_mutex_unlock(&process.lock);
  if (!kept) munmap(writer->chunk, writer->chunk->length);
  writer->chunk = NULL;
}

/* The rest of a chunk that a closed connection has left, or an empty writer. */
struct writer taken_spare(uint32_t connection) {
  struct writer writer = {0};
  pthread_mutex_lock(&process.lock);
  if (spare_count > 0) writer = spares[--spare_count];
  pthread_mutex_unlock(&process.lock);
  writer.connection = connection;
  return writer;
}

/* Something about the whole process. */
void note(enum note code, const char *words) {
  if (!process.active) return;
  size_t length = strlen(words);
  pthread_mutex_lock(&own_lock);
  uint8_t *at = reserve(&own_writer, 16 + length);
  if (at) {
    *at++ = RECORD_NOTE;
    at = put(at, code);
    publish(&own_writer, put_bytes(at, words, length));
  }
  pthread_mutex_unlock(&own_lock);
}

/* The process ends by itself. */
void leave(void) {
  if (!process.active || process.number == 0) return;
  pthread_mutex_lock(&own_lock);
  uint8_t *at = reserve(&own_writer, 16);
  if (at) {
    *at++ = RECORD_EXIT;
    publish(&own_writer, put_time(at, &own_writer));
  }
  pthread_mutex_unlock(&own_lock);
}

/* In the child: the chunks belong to the parent, and the process has no number yet. */
void after_fork(void) {
  pthread_mutex_init(&process.lock, NULL);
  pthread_mutex_init(&own_lock, NULL);
  process.generation++;
  process.number = 0;
  spare_count = 0;
  own_writer = (struct writer){0};
  forget_texts();
}
