// Your own code, which pragmark measures. Driver.java calls it and speaks with pragmark.
import java.sql.*;
import java.util.*;
import org.json.JSONObject;

final class Work {
    /** Returns the metrics in driver.toml, whose parameters are the settings; puts the result, the same in every variant. */
    static Map<String, Object> work(Connection connection, JSONObject settings, StringBuilder result) throws SQLException {
        Driver.column(connection, "CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER)");
        int orders = settings.getInt("orders");
        double[] latencies = new double[orders];
        long start = System.nanoTime();
        try (var insert = connection.prepareStatement("INSERT INTO orders(customer, cents) VALUES (?, ?)")) {
            for (int number = 0; number < orders; number++) {
                long before = System.nanoTime();
                insert.setInt(1, number % 100);
                insert.setInt(2, number);
                insert.executeUpdate();
                latencies[number] = (System.nanoTime() - before) / 1e3;
            }
        }
        double seconds = (System.nanoTime() - start) / 1e9;
        result.append(Driver.column(connection, "SELECT count(*) || ' ' || sum(customer) || ' ' || sum(cents) FROM orders").get(0));
        if (!result.toString().startsWith(orders + " ")) throw new SQLException("not all orders were stored: " + result);
        Arrays.sort(latencies);
        return Map.of("orders_per_s", orders / seconds, "seconds", seconds, "p50_us", latencies[orders / 2]);
    }
}
