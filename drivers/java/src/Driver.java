import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * Runs one trial through sqlite-jdbc, as docs/protocol.md describes. The work is in Basics and Quotes.
 *
 * <p>With the argument {@code describe} it describes the binding.
 */
public final class Driver {
    private static final int PROTOCOL = 1;
    private static final List<String> SHORT =
            List.of("busy_timeout", "foreign_keys", "journal_mode", "synchronous");

    private Driver() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 1 && arguments[0].equals("describe")) {
            System.out.println(describe());
            return;
        }
        String text = new String(System.in.readAllBytes(), StandardCharsets.UTF_8);
        say(outcome(new JSONObject(text)));
    }

    static void say(JSONObject message) {
        System.out.println(message);
        System.out.flush();
    }

    private static JSONObject outcome(JSONObject spec) {
        if (spec.getInt("protocol") != PROTOCOL) {
            return ended("skipped", "this driver supports version " + PROTOCOL + " of the protocol");
        }
        String workload = spec.getString("workload");
        boolean isQuotes = workload.equals("quotes");
        if (!isQuotes && !workload.equals("binding-basics")) {
            return ended("skipped", "this driver does not support the workload " + workload);
        }
        try {
            String why = isQuotes ? Quotes.unsupported(spec.getJSONObject("settings")) : null;
            if (why != null) {
                return ended("skipped", why);
            }
            JSONObject measured = new JSONObject().put("measured", isQuotes ? quotes(spec) : basics(spec));
            return new JSONObject().put("outcome", measured);
        } catch (Basics.WrongResult | SQLException | IOException | JSONException error) {
            return ended("failed", error.getMessage());
        }
    }

    private static JSONObject ended(String how, String why) {
        return new JSONObject().put("outcome", new JSONObject().put(how, new JSONObject().put("why", why)));
    }

    private static Connection open(String path) throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + path);
    }

    /** The first column of every row; a statement without rows has none. */
    static List<String> column(Connection connection, String sql) throws SQLException {
        List<String> found = new ArrayList<>();
        try (Statement statement = connection.createStatement()) {
            if (statement.execute(sql)) {
                try (ResultSet rows = statement.getResultSet()) {
                    while (rows.next()) {
                        found.add(rows.getString(1));
                    }
                }
            }
        }
        return found;
    }

    /** SQLite's answers to PRAGMAs, omitting those without an answer. */
    private static JSONObject readBack(Connection connection, List<String> names) throws SQLException {
        // Before a connection reads its file, it answers with requested values, not actual ones.
        column(connection, "PRAGMA schema_version");
        JSONObject answers = new JSONObject();
        for (String name : names) {
            List<String> found = column(connection, "PRAGMA main." + name);
            if (!found.isEmpty()) {
                answers.put(name, found.get(0));
            }
        }
        return answers;
    }

    private static String name(Connection connection) throws SQLException {
        return "Java " + Runtime.version() + ", sqlite-jdbc " + connection.getMetaData().getDriverVersion();
    }

    private static JSONObject describe() throws SQLException {
        try (Connection connection = open(":memory:")) {
            return new JSONObject()
                    .put("name", name(connection))
                    .put("version", column(connection, "SELECT sqlite_version()").get(0))
                    .put("source_id", column(connection, "SELECT sqlite_source_id()").get(0))
                    .put("compile_options", column(connection, "PRAGMA compile_options"))
                    .put("defaults", readBack(connection, SHORT));
        }
    }

    /** How the connections of a trial are opened and read back. */
    static final class Opening {
        private final List<String> pragmas;
        private final List<String> names;
        private final Properties properties = new Properties();

        Opening(JSONObject spec) {
            JSONObject binding = spec.getJSONObject("binding");
            pragmas = strings(binding.getJSONArray("pragmas"));
            names = strings(binding.getJSONArray("read_back"));
            String transaction = spec.getJSONObject("settings").optString("transaction", "");
            if (!transaction.isEmpty()) {
                properties.setProperty("transaction_mode", transaction.toUpperCase(Locale.ROOT));
            }
        }

        Connection open(Path path) throws SQLException {
            Connection connection = DriverManager.getConnection("jdbc:sqlite:" + path, properties);
            for (String pragma : pragmas) {
                column(connection, pragma);
            }
            return connection;
        }

        /** A connection as the binding opens it. */
        Connection openPlain(Path path) throws SQLException {
            return Driver.open(path.toString());
        }

        JSONObject readBack(String name, Connection connection) throws SQLException {
            return new JSONObject().put("connection", name).put("pragmas", Driver.readBack(connection, names));
        }
    }

    private static JSONObject quotes(JSONObject spec) throws SQLException, IOException, Basics.WrongResult {
        Path directory = Path.of(spec.getString("directory"));
        List<String> names = strings(spec.getJSONObject("binding").getJSONArray("read_back"));
        JSONObject measured = new JSONObject();
        try (Connection fresh = open(directory.resolve("defaults.db").toString())) {
            measured.put("engine", engine(fresh)).put("binding", mark(fresh, readBack(fresh, names)));
        }
        Quotes work = new Quotes(
                spec.getJSONObject("settings"), spec.getBigInteger("seed"), directory, new Opening(spec));
        JSONObject metrics = work.run();
        return measured.put("metrics", metrics)
                .put("connections", work.connections())
                .put("checksum", work.checksum());
    }

    private static JSONObject basics(JSONObject spec) throws SQLException, Basics.WrongResult {
        JSONObject binding = spec.getJSONObject("binding");
        List<String> names = strings(binding.getJSONArray("read_back"));
        Path directory = Path.of(spec.getString("directory"));
        JSONObject defaults;
        try (Connection fresh = open(directory.resolve("defaults.db").toString())) {
            defaults = readBack(fresh, names);
        }
        try (Connection connection = open(directory.resolve("test.db").toString())) {
            for (String pragma : strings(binding.getJSONArray("pragmas"))) {
                column(connection, pragma);
            }
            Basics work =
                    new Basics(connection, spec.getJSONObject("settings"), spec.getBigInteger("seed"));
            JSONObject metrics = work.run();
            JSONObject main = new JSONObject();
            main.put("connection", "main").put("pragmas", readBack(connection, names));
            return new JSONObject()
                    .put("metrics", metrics)
                    .put("engine", engine(connection))
                    .put("connections", new JSONArray().put(main))
                    .put("binding", mark(connection, defaults))
                    .put("checksum", work.checksum());
        }
    }

    private static JSONObject engine(Connection connection) throws SQLException {
        return new JSONObject()
                .put("version", column(connection, "SELECT sqlite_version()").get(0))
                .put("source_id", column(connection, "SELECT sqlite_source_id()").get(0));
    }

    private static JSONObject mark(Connection connection, JSONObject defaults) throws SQLException {
        return new JSONObject()
                .put("name", name(connection))
                .put("compile_options", column(connection, "PRAGMA compile_options"))
                .put("defaults", defaults);
    }

    private static List<String> strings(JSONArray array) {
        List<String> strings = new ArrayList<>();
        for (int index = 0; index < array.length(); index++) {
            strings.add(array.getString(index));
        }
        return strings;
    }
}
