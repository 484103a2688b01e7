// Measures your own code. Replace work; the rest is the protocol between pragmark and a driver.
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.util.*;
import org.json.*;

public final class Driver {
    static void work(Connection connection, int orders, double[] latencies) throws SQLException {
        try (var insert = connection.prepareStatement("INSERT INTO orders(customer, cents) VALUES (?, ?)")) {
            for (int number = 0; number < orders; number++) {
                long start = System.nanoTime();
                insert.setInt(1, number % 100);
                insert.setInt(2, number);
                insert.executeUpdate();
                latencies[number] = (System.nanoTime() - start) / 1e3;
            }
        }
    }

    static Connection open(String path) throws SQLException {
        return DriverManager.getConnection("jdbc:sqlite:" + path);
    }

    static List<String> column(Connection connection, String sql) throws SQLException {
        List<String> values = new ArrayList<>();
        try (var statement = connection.createStatement()) {
            if (!statement.execute(sql)) return values;
            for (var rows = statement.getResultSet(); rows.next(); ) values.add(rows.getString(1));
        }
        return values;
    }

    static JSONObject describe(Connection connection) throws SQLException {
        return new JSONObject().put("name", "Java " + Runtime.version() + ", sqlite-jdbc")
                .put("version", column(connection, "SELECT sqlite_version()").get(0))
                .put("source_id", column(connection, "SELECT sqlite_source_id()").get(0))
                .put("compile_options", column(connection, "PRAGMA compile_options"))
                .put("defaults", new JSONObject());
    }

    static JSONObject trial(JSONObject spec) throws SQLException {
        var connection = open(spec.getString("directory") + "/app.db");
        var binding = spec.getJSONObject("binding");
        for (Object pragma : binding.getJSONArray("pragmas")) column(connection, (String) pragma);
        column(connection, "CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER)");
        int orders = spec.getJSONObject("settings").getInt("orders");
        double[] latencies = new double[orders];
        long start = System.nanoTime();
        work(connection, orders, latencies);
        double seconds = (System.nanoTime() - start) / 1e9;
        String stored = column(connection, "SELECT count(*) FROM orders").get(0);
        if (!stored.equals("" + orders)) {
            return new JSONObject(Map.of("failed", Map.of("why", stored + " orders were stored")));
        }
        var result = column(connection, "SELECT count(*) || ' ' || sum(customer) || ' ' || sum(cents) FROM orders");
        var pragmas = new JSONObject();
        for (Object name : binding.getJSONArray("read_back")) {
            var values = column(connection, "PRAGMA main." + name);
            if (!values.isEmpty()) pragmas.put((String) name, values.get(0));
        }
        Arrays.sort(latencies);
        var metrics = Map.of("orders_per_s", orders / seconds, "seconds", seconds, "p50_us", latencies[orders / 2]);
        var connections = List.of(Map.of("connection", "main", "pragmas", pragmas));
        return new JSONObject().put("measured", new JSONObject().put("metrics", metrics)
                .put("engine", describe(connection)).put("binding", describe(connection))
                .put("checksum", result.get(0)).put("connections", connections));
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 1 && arguments[0].equals("describe")) {
            System.out.println(describe(open(":memory:")));
            return;
        }
        var spec = new JSONObject(new String(System.in.readAllBytes(), StandardCharsets.UTF_8));
        System.out.println(new JSONObject().put("outcome", trial(spec)));
    }
}
