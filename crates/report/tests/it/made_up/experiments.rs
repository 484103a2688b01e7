//! The experiments of the made-up run.

/// A level that would run as a script if it were not escaped.
#[allow(dead_code)] // Used by one of the tests only.
pub const HOSTILE: &str = "<script>alert(1)</script>";

/// The experiment files.
pub const ALL: [&str; 6] = [
    // One factor, four variants; a claim confirmed, one refuted, one undecided, one without a figure.
    r#"
    id = "insert-index-timing"
    question = "Does creating an index after the load beat maintaining it during the load?"
    source = "001"
    note = "Sorting the rows by the indexed column beforehand should make the difference vanish: the index then grows at its end only."
    workload = "bulk-insert"
    base = { table = "integers", rows = 5_000_000 }
    factors = { index = ["before", "after", "before-sorted", "deferred"] }
    design = { kind = "one-at-a-time", baseline = { index = "before" } }

    [[upper_bounds]]
    name = "generating only"
    says = "the rows are made and thrown away"
    workload = "generate"

    [[upper_bounds]]
    name = "plain file"
    says = "the same bytes written to a file of their own, with one sync at the end"
    workload = "plain-file"

    [[upper_bounds]]
    name = "memory map"
    says = "the same bytes stored into a mapped file"
    workload = "mapped-file"

    [[claims]]
    id = "ins-31"
    says = "creating the index after the load is at least twice as fast"
    ratio = { of = { index = "after" }, to = { index = "before" } }
    at_least = 2.0
    published = 3.29

    [[claims]]
    id = "ins-32"
    says = "deferring the index to the commit is faster than maintaining it row by row"
    ratio = { of = { index = "deferred" }, to = { index = "before" } }
    at_least = 1.0
    published = 1.4

    [[claims]]
    id = "ins-33"
    says = "sorting beforehand is as good as creating the index afterwards"
    equal = { of = { index = "before-sorted" }, to = { index = "after" } }
    within = 0.01

    [[claims]]
    id = "ins-34"
    says = "the slowest way takes less than four times as long as the fastest"
    spread = { over = "index" }
    at_most = 3.0
    published = 2.3
    "#,
    // Sizes over two decades and a half, with lines that bend; an absolute figure.
    r#"
    id = "insert-growth"
    question = "From which size on do rows in random order fall out of the cache?"
    source = "001"
    workload = "bulk-insert"
    base = { table = "integers" }
    conditions = ["rows"]
    factors = { rows = [100_000, 300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000], order = ["sorted", "mostly-sorted", "random"] }
    design = { kind = "factorial", baseline = { rows = 1_000_000, order = "random" }, stopping = { rounds = 7, max_rounds = 7 } }

    [[claims]]
    id = "grow-1"
    says = "a row of the sorted table takes about thirteen bytes"
    value = { of = { rows = 10_000_000, order = "sorted" }, metric = "bytes_per_row" }
    between = [12.5, 13.9]
    published = 13.2

    [[claims]]
    id = "grow-2"
    says = "random order loses at least ten times as much from one to thirty million rows as sorted order"
    ratio_of_ratios = { of = { rows = 1_000_000, order = "random" }, to = { rows = 30_000_000, order = "random" }, over_of = { rows = 1_000_000, order = "sorted" }, over_to = { rows = 30_000_000, order = "sorted" } }
    at_least = 10.0
    published = 12.5
    "#,
    // A factorial of two factors over three decades, with variants that fail in every way.
    r#"
    id = "journal-and-sync"
    question = "What do journal mode and synchronous cost together?"
    source = "002"
    workload = "small-transactions"
    metric = "txns_per_s"
    base = { rows_per_txn = 1, page_size = 4096 }
    factors = { journal_mode = ["delete", "truncate", "persist", "memory", "wal", "off"], synchronous = ["off", "normal", "full", "extra"] }
    design = { kind = "factorial", baseline = { journal_mode = "delete", synchronous = "full" } }

    [[exclude]]
    levels = { journal_mode = "off", synchronous = "extra" }
    because = "extra adds nothing where there is no journal to sync"

    [[claims]]
    id = "dur-1"
    says = "WAL with synchronous NORMAL is the fastest that survives a crash of the application"
    ratio = { of = { journal_mode = "wal", synchronous = "normal" }, to = { journal_mode = "delete", synchronous = "full" } }
    at_least = 5.0
    published = 21.0
    bound_because = "the factor grows with the time of an fsync"
    requires = ["fsync"]

    [[claims]]
    id = "dur-2"
    says = "each step of safety costs speed"
    ordering = { over = "synchronous", at = { journal_mode = "delete" } }
    tolerance = 0.05

    [[claims]]
    id = "dur-3"
    says = "TRUNCATE is faster than DELETE"
    ratio = { of = { journal_mode = "truncate" }, to = { journal_mode = "delete" } }
    at_least = 1.0
    published = 1.21

    [[claims]]
    id = "dur-4"
    says = "without a journal synchronous FULL costs nothing"
    equal = { of = { journal_mode = "off", synchronous = "full" }, to = { journal_mode = "off", synchronous = "off" } }
    within = 0.1
    "#,
    // Sizes, compared exactly; a preliminary run of three rounds; a hostile level.
    r#"
    id = "page-size"
    question = "Which page size and text encoding give the smallest file?"
    workload = "bulk-insert"
    metric = "db_bytes"
    base = { table = "articles", rows = 200_000 }
    factors = { page_size = [1024, 4096, 16384, 65536], note = ["plain", "<script>alert(1)</script>"] }
    design = { kind = "one-at-a-time", baseline = { page_size = 4096, note = "plain" }, stopping = { rounds = 3, max_rounds = 3 } }

    [[adjust]]
    for = { page_size = 65536 }
    base = { rows = 100_000 }

    [[claims]]
    id = "size-1"
    says = "pages of 1 KiB make the file larger than pages of 4 KiB"
    ratio = { of = { page_size = 1024 }, to = { page_size = 4096 } }
    at_least = 1.0
    exact = true

    [[claims]]
    id = "size-2"
    says = "pages of 64 KiB make a small file larger"
    ratio = { of = { page_size = 65536 }, to = { page_size = 4096 } }
    at_least = 1.0
    expected = { figure = 1.2, origin = "prototype" }
    not_at = { default = "200,000 rows instead of 100" }

    [[checks]]
    id = "size-3"
    says = "every row can be read back"
    "#,
    // No difference at all, on a directory in memory: a claim that does not apply.
    r#"
    id = "checkpoint-size"
    question = "Does the size of the automatic checkpoint matter for writers?"
    source = "003"
    workload = "small-transactions"
    metric = "p99_us"
    base = { journal_mode = "wal" }
    factors = { wal_autocheckpoint = [1000, 4000, 0] }
    design = { kind = "one-at-a-time", baseline = { wal_autocheckpoint = 1000 }, stopping = { rounds = 7, max_rounds = 9 } }

    [[claims]]
    id = "ckpt-1"
    says = "checkpoints of four thousand pages halve the 99th percentile"
    ratio = { of = { wal_autocheckpoint = 4000 }, to = { wal_autocheckpoint = 1000 } }
    at_most = 0.5
    requires = ["fsync"]
    published = 0.41

    [[claims]]
    id = "ckpt-2"
    says = "without checkpoints latency is lowest"
    argmin = { over = "wal_autocheckpoint", is = [0] }
    "#,
    // Interrupted before there was anything to compare.
    r#"
    id = "blobs-in-rows"
    question = "From which size on are blobs better kept in files?"
    workload = "blob-read"
    metric = "txns_per_s"
    factors = { storage = ["rows", "files"] }
    design = { kind = "one-at-a-time", baseline = { storage = "rows" } }

    [[claims]]
    id = "blob-1"
    says = "rows are faster than files for blobs of 10 kB"
    ratio = { of = { storage = "rows" }, to = { storage = "files" } }
    at_least = 1.0
    expected = { figure = 1.35, origin = "repository" }
    "#,
];
