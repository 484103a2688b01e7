import java.math.BigInteger;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.json.JSONObject;

/**
 * The workload binding-basics, the same in every binding; the reasons are in
 * crates/bench/src/workload/binding_basics.rs.
 */
final class Basics {
    private static final long MODULUS = 2_147_483_647L;
    private static final long MULTIPLIER = 48_271L;
    private static final long STRIDE = 7_919L;
    private static final int BATCH = 50;
    private static final int WIDTH = 1_000;
    private static final int STATEMENTS = 13;

    /** The work was done, but its result is wrong. */
    static final class WrongResult extends Exception {
        private static final long serialVersionUID = 1;

        WrongResult(String what, Object found, Object wanted) {
            super("wrong result: " + what + " is " + found + " instead of " + wanted);
        }
    }

    private record Row(long key, long number, String name, double price) {}

    /** What rows add up to. */
    private static final class Sums {
        private long rows;
        private long numbers;
        private long characters;
        private long quarters;

        void add(long number, String name, double price) {
            rows++;
            numbers += number;
            characters += name.length();
            quarters += (long) (price * 4);
        }

        void add(Row row) {
            add(row.number, row.name, row.price);
        }

        @Override
        public String toString() {
            return rows + "/" + numbers + "/" + characters + "/" + quarters;
        }
    }

    private interface Part {
        /** Does the work; returns the rows by which its time is divided. */
        int run() throws SQLException;
    }

    private interface Work {
        void run() throws SQLException;
    }

    private final Connection connection;
    private final List<Row> data = new ArrayList<>();
    private final List<Long> keys = new ArrayList<>();
    private final List<Long> starts = new ArrayList<>();
    private final int width;
    private final List<String> tasks;
    private final Sums read = new Sums();
    private final Sums scanned = new Sums();
    private long changed;

    Basics(Connection connection, JSONObject settings, BigInteger seed) {
        this.connection = connection;
        long start = seed.mod(BigInteger.valueOf(MODULUS)).longValueExact();
        int count = settings.getInt("rows");
        width = Math.min(count, WIDTH);
        for (long key = 1; key <= count; key++) {
            long number = (key * MULTIPLIER + start) % MODULUS;
            data.add(new Row(key, number, "item " + number % 1_000_000, number % 10_000 / 4.0));
        }
        for (long number = 0; number < settings.getInt("reads"); number++) {
            keys.add((number * STRIDE + start) % count + 1);
        }
        for (long number = 0; number < settings.getInt("scans"); number++) {
            starts.add((number * STRIDE + start) % (count - width + 1) + 1);
        }
        tasks = IntStream.range(0, settings.getInt("tasks"))
                .mapToObj(number -> String.format("task-%08d", number))
                .toList();
    }

    JSONObject run() throws SQLException, WrongResult {
        createTables();
        JSONObject metrics = new JSONObject();
        double seconds = 0;
        seconds += measure(metrics, "insert-single", this::insertSingle);
        seconds += measure(metrics, "insert-reused", this::insertReused);
        seconds += measure(metrics, "insert-batch", this::insertBatch);
        seconds += measure(metrics, "point-read", this::pointRead);
        seconds += measure(metrics, "range-scan", this::rangeScan);
        seconds += measure(metrics, "task-statement", this::live);
        metrics.put("seconds", seconds);
        Driver.say(new JSONObject().put("phase", "verify"));
        verify();
        return metrics;
    }

    private double measure(JSONObject metrics, String part, Part work) throws SQLException {
        Driver.say(new JSONObject().put("phase", part));
        long begin = System.nanoTime();
        int rows = work.run();
        double elapsed = Math.max(System.nanoTime() - begin, 1);
        metrics.put("seconds." + part, elapsed / 1e9).put("ns_per_row." + part, elapsed / rows);
        return elapsed / 1e9;
    }

    private void execute(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private void createTables() throws SQLException {
        for (String table : List.of("single", "reused", "batch")) {
            execute("CREATE TABLE " + table + "(id INTEGER PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL, price REAL NOT NULL)");
        }
        execute("CREATE TABLE tasks(id VARCHAR(16) NOT NULL PRIMARY KEY, status VARCHAR(16) NOT NULL, cmd VARCHAR(16) NOT NULL, args TEXT NOT NULL, output TEXT)");
        execute("CREATE INDEX tasks_status ON tasks(status)");
    }

    /** By JDBC's own means: its auto-commit would end a transaction that SQL has begun. */
    private int inTransaction(Work work) throws SQLException {
        connection.setAutoCommit(false);
        work.run();
        connection.commit();
        connection.setAutoCommit(true);
        return data.size();
    }

    private static void bind(PreparedStatement statement, int first, Row row) throws SQLException {
        statement.setLong(first, row.key);
        statement.setLong(first + 1, row.number);
        statement.setString(first + 2, row.name);
        statement.setDouble(first + 3, row.price);
    }

    private int insertSingle() throws SQLException {
        return inTransaction(() -> {
            for (Row row : data) {
                try (PreparedStatement insert =
                        connection.prepareStatement("INSERT INTO single VALUES (?, ?, ?, ?)")) {
                    bind(insert, 1, row);
                    insert.executeUpdate();
                }
            }
        });
    }

    private int insertReused() throws SQLException {
        return inTransaction(() -> {
            try (PreparedStatement insert =
                    connection.prepareStatement("INSERT INTO reused VALUES (?, ?, ?, ?)")) {
                for (Row row : data) {
                    bind(insert, 1, row);
                    insert.executeUpdate();
                }
            }
        });
    }

    private int insertBatch() throws SQLException {
        String values = String.join(", ", Collections.nCopies(BATCH, "(?, ?, ?, ?)"));
        return inTransaction(() -> {
            try (PreparedStatement insert =
                    connection.prepareStatement("INSERT INTO batch VALUES " + values)) {
                for (int first = 0; first < data.size(); first += BATCH) {
                    for (int place = 0; place < BATCH; place++) {
                        bind(insert, 4 * place + 1, data.get(first + place));
                    }
                    insert.executeUpdate();
                }
            }
        });
    }

    private int pointRead() throws SQLException {
        String sql = "SELECT number, name, price FROM reused WHERE id = ?";
        try (PreparedStatement query = connection.prepareStatement(sql)) {
            for (long key : keys) {
                query.setLong(1, key);
                try (ResultSet rows = query.executeQuery()) {
                    while (rows.next()) {
                        read.add(rows.getLong(1), rows.getString(2), rows.getDouble(3));
                    }
                }
            }
        }
        return keys.size();
    }

    private int rangeScan() throws SQLException {
        String sql = "SELECT id, number, name, price FROM reused WHERE id >= ? AND id < ?";
        try (PreparedStatement query = connection.prepareStatement(sql)) {
            for (long start : starts) {
                query.setLong(1, start);
                query.setLong(2, start + width);
                try (ResultSet rows = query.executeQuery()) {
                    while (rows.next()) {
                        rows.getLong(1);
                        scanned.add(rows.getLong(2), rows.getString(3), rows.getDouble(4));
                    }
                }
            }
        }
        return starts.size() * width;
    }

    private int live() throws SQLException {
        long before = changes();
        try (PreparedStatement insert = connection.prepareStatement(
                        "INSERT INTO tasks(id, status, cmd, args) VALUES (?, 'pending', 'example', ?)");
                PreparedStatement take =
                        connection.prepareStatement("UPDATE tasks SET status = 'processing' WHERE id = ?");
                PreparedStatement write =
                        connection.prepareStatement("UPDATE tasks SET output = ? WHERE id = ?");
                PreparedStatement delete = connection.prepareStatement("DELETE FROM tasks WHERE id = ?")) {
            for (String task : tasks) {
                run(insert, task, "[\"a\",\"b\",\"c\"]");
                run(take, task);
                for (int line = 0; line < 10; line++) {
                    run(write, "line " + line + " of some kind of output", task);
                }
                run(delete, task);
            }
        }
        changed = changes() - before;
        return tasks.size() * STATEMENTS;
    }

    private static void run(PreparedStatement statement, String... values) throws SQLException {
        for (int place = 0; place < values.length; place++) {
            statement.setString(place + 1, values[place]);
        }
        statement.executeUpdate();
    }

    private long changes() throws SQLException {
        return Long.parseLong(Driver.column(connection, "SELECT total_changes()").get(0));
    }

    /** The sums of all rows, of those read by key and of those scanned. */
    private List<Sums> wanted() {
        Sums all = new Sums();
        data.forEach(all::add);
        Sums byKey = new Sums();
        keys.forEach(key -> byKey.add(data.get((int) (key - 1))));
        Sums inRanges = new Sums();
        starts.forEach(start -> data.subList((int) (start - 1), (int) (start - 1 + width)).forEach(inRanges::add));
        return List.of(all, byKey, inRanges);
    }

    private static void expect(String what, Object found, Object wanted) throws WrongResult {
        if (!found.toString().equals(wanted.toString())) {
            throw new WrongResult(what, found, wanted);
        }
    }

    private void verify() throws SQLException, WrongResult {
        List<Sums> wanted = wanted();
        for (String table : List.of("single", "reused", "batch")) {
            String found = Driver.column(connection,
                    "SELECT count(*) || '/' || sum(number) || '/' || sum(length(name)) || '/' || CAST(sum(price) * 4 AS INTEGER) FROM " + table)
                    .get(0);
            expect("what the table " + table + " adds up to", found, wanted.get(0));
        }
        expect("what point reads add up to", read, wanted.get(1));
        expect("what range scans add up to", scanned, wanted.get(2));
        expect("the rows changed by tasks", changed, (long) tasks.size() * STATEMENTS);
        expect("the tasks left", Driver.column(connection, "SELECT count(*) FROM tasks").get(0), 0);
    }

    String checksum() {
        return String.join(" ", wanted().stream().map(Sums::toString).toList());
    }
}
