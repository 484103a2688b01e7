/* What a C programmer would write for two scripts of pgbench: the lower bound for the workload `sql`.
** Usage: script_loop DATABASE tpcb-like|select-only TRANSACTIONS; prints the seconds of all transactions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "sqlite3.h"

enum { TELLERS = 10, ACCOUNTS = 100000 };

static sqlite3 *database;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void check(int result, int wanted, const char *what) {
  if (result != wanted) {
    fprintf(stderr, "%s: %d: %s\n", what, result, sqlite3_errmsg(database));
    exit(1);
  }
}

static void execute(const char *sql) { check(sqlite3_exec(database, sql, 0, 0, 0), SQLITE_OK, sql); }

static sqlite3_stmt *prepare(const char *sql) {
  sqlite3_stmt *statement;
  check(sqlite3_prepare_v2(database, sql, -1, &statement, 0), SQLITE_OK, sql);
  return statement;
}

/* Steps to the end and resets. */
static void run(sqlite3_stmt *statement) {
  int result;
  while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
  }
  check(result, SQLITE_DONE, "step");
  check(sqlite3_reset(statement), SQLITE_OK, "reset");
}

static void bind(sqlite3_stmt *statement, int index, sqlite3_int64 value) {
  check(sqlite3_bind_int64(statement, index, value), SQLITE_OK, "bind");
}

/* A whole number from `min` to `max`, by splitmix64. */
static sqlite3_int64 draw(sqlite3_int64 min, sqlite3_int64 max) {
  static sqlite3_uint64 state = 1;
  sqlite3_uint64 z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  z ^= z >> 31;
  return min + (sqlite3_int64)(z % (sqlite3_uint64)(max - min + 1));
}

static void fill(void) {
  execute("CREATE TABLE pgbench_branches(bid INTEGER NOT NULL PRIMARY KEY, bbalance INTEGER, filler CHAR(88));"
          "CREATE TABLE pgbench_tellers(tid INTEGER NOT NULL PRIMARY KEY, bid INTEGER, tbalance INTEGER, filler CHAR(84));"
          "CREATE TABLE pgbench_accounts(aid INTEGER NOT NULL PRIMARY KEY, bid INTEGER, abalance INTEGER, filler CHAR(84));"
          "CREATE TABLE pgbench_history(tid INTEGER, bid INTEGER, aid INTEGER, delta INTEGER, mtime TIMESTAMP, filler CHAR(22));"
          "BEGIN; INSERT INTO pgbench_branches(bid, bbalance) VALUES (1, 0)");
  sqlite3_stmt *tellers = prepare("INSERT INTO pgbench_tellers(tid, bid, tbalance) VALUES (?1, 1, 0)");
  for (int tid = 1; tid <= TELLERS; tid++) bind(tellers, 1, tid), run(tellers);
  sqlite3_stmt *accounts = prepare("INSERT INTO pgbench_accounts VALUES (?1, 1, 0, printf('%84s', ''))");
  for (int aid = 1; aid <= ACCOUNTS; aid++) bind(accounts, 1, aid), run(accounts);
  sqlite3_finalize(tellers);
  sqlite3_finalize(accounts);
  execute("COMMIT");
}

static void tpcb_like(int transactions) {
  sqlite3_stmt *begin = prepare("BEGIN"), *end = prepare("END");
  sqlite3_stmt *account = prepare("UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid");
  sqlite3_stmt *balance = prepare("SELECT abalance FROM pgbench_accounts WHERE aid = :aid");
  sqlite3_stmt *teller = prepare("UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid");
  sqlite3_stmt *branch = prepare("UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid");
  sqlite3_stmt *history = prepare("INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP)");
  double start = now();
  for (int number = 0; number < transactions; number++) {
    sqlite3_int64 aid = draw(1, ACCOUNTS), bid = draw(1, 1), tid = draw(1, TELLERS), delta = draw(-5000, 5000);
    run(begin);
    bind(account, 1, delta), bind(account, 2, aid), run(account);
    bind(balance, 1, aid), run(balance);
    bind(teller, 1, delta), bind(teller, 2, tid), run(teller);
    bind(branch, 1, delta), bind(branch, 2, bid), run(branch);
    bind(history, 1, tid), bind(history, 2, bid), bind(history, 3, aid), bind(history, 4, delta), run(history);
    run(end);
  }
  printf("%.9f\n", now() - start);
}

static void select_only(int transactions) {
  sqlite3_stmt *balance = prepare("SELECT abalance FROM pgbench_accounts WHERE aid = :aid");
  double start = now();
  for (int number = 0; number < transactions; number++) bind(balance, 1, draw(1, ACCOUNTS)), run(balance);
  printf("%.9f\n", now() - start);
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  check(sqlite3_open(argv[1], &database), SQLITE_OK, "open");
  execute("PRAGMA journal_mode = memory; PRAGMA synchronous = off; PRAGMA cache_size = -64000");
  fill();
  int transactions = atoi(argv[3]);
  if (!strcmp(argv[2], "tpcb-like")) tpcb_like(transactions);
  else select_only(transactions);
  return 0;
}
