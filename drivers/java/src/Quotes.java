import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.json.JSONArray;
import org.json.JSONObject;

/**
 * The workload quotes: the same rows, statements and checks as in crates/bench/src/workload/quotes, through JDBC
 * as in article 002: auto-commit off, rows added to batches, one commit each time. How transactions begin is
 * sqlite-jdbc's own setting.
 */
final class Quotes {
    private static final long OPENING_MS = 1_641_220_200_000L;
    private static final String[] VENUES = {"ARCX", "BATS", "IEXG", "MEMX", "XNAS"};

    /** Rows that are handed over at once. */
    private static final int BATCH = 1_000;

    private static final String TABLE =
            "CREATE TABLE quotes(security_id INTEGER NOT NULL, ts INTEGER NOT NULL, bid REAL, ask REAL, last REAL, volume INTEGER, venue TEXT)";

    /** What is summed; prices in cents, because sums of REAL depend on their order. */
    private static final List<String> SUMS = List.of(
            "count(*)",
            "sum(security_id)",
            "sum(ts - " + OPENING_MS + ")",
            "sum(security_id * (ts - " + OPENING_MS + "))",
            "sum(CAST(round(bid * 100) AS INTEGER))",
            "sum(CAST(round(ask * 100) AS INTEGER))",
            "sum(CAST(round(last * 100) AS INTEGER))",
            "sum(volume)",
            "sum(unicode(venue))");

    /** Those of the sums that the index can answer by itself. */
    private static final int IN_INDEX = 4;

    private record Quote(long security, long ts, long bid, long ask, long last, long volume, String venue) {
        long[] summed() {
            long time = ts - OPENING_MS;
            return new long[] {1, security, time, security * time, bid, ask, last, volume, venue.charAt(0)};
        }
    }

    /** The generator splitmix64, with the seeds of crates/lab/src/seed.rs. */
    private static final class Random {
        private long state;

        Random(long seed) {
            state = seed;
        }

        static long nth(long seed, long number) {
            return mix(seed + mix(number + 1));
        }

        static long child(long seed, String name) {
            long hash = 0xcbf29ce484222325L;
            for (byte letter : name.getBytes(StandardCharsets.UTF_8)) {
                hash = (hash ^ letter) * 0x100000001b3L;
            }
            return mix(seed ^ mix(hash));
        }

        long below(long bound) {
            state += 0x9e3779b97f4a7c15L;
            long bits = mix(state);
            // The product of unsigned numbers: Math.unsignedMultiplyHigh needs a later JDK.
            return Math.multiplyHigh(bits, bound) + (bits >> 63 & bound);
        }

        private static long mix(long bits) {
            bits = (bits ^ (bits >>> 30)) * 0xbf58476d1ce4e5b9L;
            bits = (bits ^ (bits >>> 27)) * 0x94d049bb133111ebL;
            return bits ^ (bits >>> 31);
        }
    }

    private final JSONObject settings;
    private final Path directory;
    private final Driver.Opening opening;
    private final List<Quote> data;
    private final int times;
    private final int rowsPerTransaction;
    private final JSONObject metrics = new JSONObject();
    private final JSONArray connections = new JSONArray();

    Quotes(JSONObject settings, BigInteger seed, Path directory, Driver.Opening opening) {
        this.settings = settings;
        this.directory = directory;
        this.opening = opening;
        data = generate(settings.getInt("rows"), settings.getInt("securities"), Random.nth(seed.longValue(), 0));
        times = settings.getInt("times");
        int perTransaction = settings.getInt("rows_per_txn");
        rowsPerTransaction = perTransaction == 0 ? data.size() : perTransaction;
    }

    /** Why this driver does not do what the settings ask for; null where it does. */
    static String unsupported(JSONObject settings) {
        return settings.getInt("databases") > 1 ? "this driver records into one database only" : null;
    }

    private static List<Quote> generate(int count, int securities, long seed) {
        Random random = new Random(Random.child(seed, "quotes"));
        long[] middles = new long[securities];
        Arrays.setAll(middles, security -> 1_000 + random.below(49_000));
        List<Quote> quotes = new ArrayList<>(count);
        long ts = OPENING_MS;
        for (int number = 0; number < count; number++) {
            int security = number % securities;
            ts += 1 + random.below(40);
            middles[security] = Math.max(middles[security] + random.below(21) - 10, 100);
            long middle = middles[security];
            long spread = 1 + random.below(3);
            long last = middle + random.below(2 * spread + 1) - spread;
            long volume = 100 * (1 + random.below(100));
            String venue = VENUES[(int) random.below(VENUES.length)];
            quotes.add(new Quote(security + 1L, ts, middle - spread, middle + spread, last, volume, venue));
        }
        return quotes;
    }

    JSONObject run() throws SQLException, IOException, Basics.WrongResult {
        Path path = directory.resolve("quotes-1.db");
        double copied = 0;
        int copies = settings.getInt("copies");
        double inserted;
        try (Connection connection = opening.open(path)) {
            Driver.column(connection, TABLE);
            Driver.column(connection, "CREATE INDEX quotes_sec_ts ON quotes(security_id, ts)");
            Driver.say(new JSONObject().put("phase", "insert"));
            inserted = insert(connection);
            Driver.say(new JSONObject().put("phase", "verify"));
            verify(connection, "NOT INDEXED", SUMS.size());
            verify(connection, "INDEXED BY quotes_sec_ts", IN_INDEX);
            connections.put(opening.readBack("writer", connection));
        }
        if (copies > 0) {
            Driver.say(new JSONObject().put("phase", "copy"));
            for (int number = 1; number <= copies; number++) {
                copied += copy(path, number);
            }
            metrics.put("seconds.copy", copied);
        }
        long rows = (long) data.size() * times;
        metrics.put("seconds.insert", inserted).put("rows_per_s.insert", rows / inserted);
        metrics.put("seconds", inserted + copied);
        metrics.put("rows_per_s", rows * (1.0 + copies) / (inserted + copied));
        metrics.put("db_bytes", Files.size(path)).put("bytes_per_row", (double) Files.size(path) / rows);
        return metrics;
    }

    JSONArray connections() {
        return connections;
    }

    private double insert(Connection connection) throws SQLException {
        long began;
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO quotes VALUES (?, ?, ?, ?, ?, ?, ?)")) {
            connection.setAutoCommit(false);
            began = System.nanoTime();
            for (int time = 0; time < times; time++) {
                for (int from = 0; from < data.size(); from += rowsPerTransaction) {
                    transaction(connection, insert, data.subList(from, Math.min(from + rowsPerTransaction, data.size())));
                }
            }
            double seconds = Math.max(System.nanoTime() - began, 1) / 1e9;
            connection.setAutoCommit(true);
            return seconds;
        }
    }

    private static void transaction(Connection connection, PreparedStatement insert, List<Quote> quotes)
            throws SQLException {
        int added = 0;
        for (Quote quote : quotes) {
            insert.setLong(1, quote.security);
            insert.setLong(2, quote.ts);
            insert.setDouble(3, quote.bid / 100.0);
            insert.setDouble(4, quote.ask / 100.0);
            insert.setDouble(5, quote.last / 100.0);
            insert.setLong(6, quote.volume);
            insert.setString(7, quote.venue);
            insert.addBatch();
            if (++added % BATCH == 0) {
                insert.executeBatch();
            }
        }
        if (added % BATCH != 0) {
            insert.executeBatch();
        }
        connection.commit();
    }

    /** Copies the database into a new one, to which it is attached; opening and closing count. */
    private double copy(Path source, int number) throws SQLException, Basics.WrongResult {
        Path path = directory.resolve("copy-" + number + ".db");
        long began = System.nanoTime();
        Connection connection = opening.open(path);
        try (connection) {
            try (PreparedStatement attach = connection.prepareStatement("ATTACH ? AS source")) {
                attach.setString(1, source.toString());
                attach.execute();
            }
            connection.setAutoCommit(false);
            Driver.column(connection, TABLE);
            Driver.column(connection, "INSERT INTO main.quotes SELECT * FROM source.quotes");
            connection.commit();
            connection.setAutoCommit(true);
            Driver.column(connection, "DETACH source");
            long paused = System.nanoTime();
            connections.put(opening.readBack("copy " + number, connection));
            began += System.nanoTime() - paused;
        }
        double seconds = Math.max(System.nanoTime() - began, 1) / 1e9;
        try (Connection check = opening.openPlain(path)) {
            verify(check, "NOT INDEXED", SUMS.size());
        }
        return seconds;
    }

    private long[] wanted() {
        long[] sums = new long[SUMS.size()];
        for (Quote quote : data) {
            long[] summed = quote.summed();
            Arrays.setAll(sums, place -> sums[place] + summed[place]);
        }
        Arrays.setAll(sums, place -> sums[place] * times);
        return sums;
    }

    private void verify(Connection connection, String through, int count) throws SQLException, Basics.WrongResult {
        String columns = String.join(" || ' ' || ", SUMS.subList(0, count));
        String found = Driver.column(
                        connection, "SELECT " + columns + " FROM quotes " + through + " WHERE security_id > 0")
                .get(0);
        String wanted = Arrays.stream(wanted()).limit(count).mapToObj(Long::toString).collect(Collectors.joining(" "));
        if (!found.equals(wanted)) {
            throw new Basics.WrongResult("what the quotes add up to (" + through + ")", found, wanted);
        }
    }

    String checksum() {
        return Arrays.stream(wanted()).mapToObj(Long::toHexString).collect(Collectors.joining("-"));
    }
}
