// The protocol between pragmark and a driver. Your own code is in Work.java.
import java.nio.charset.StandardCharsets;
import java.sql.*;
import java.util.*;
import org.json.*;

public final class Driver {
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
        var result = new StringBuilder();
        var metrics = Work.work(connection, spec.getJSONObject("settings"), result);
        var pragmas = new JSONObject();
        for (Object name : binding.getJSONArray("read_back")) {
            var values = column(connection, "PRAGMA main." + name);
            if (!values.isEmpty()) pragmas.put((String) name, values.get(0));
        }
        var connections = List.of(Map.of("connection", "main", "pragmas", pragmas));
        return new JSONObject().put("measured", new JSONObject().put("metrics", metrics)
                .put("engine", describe(connection)).put("binding", describe(connection))
                .put("checksum", result.toString()).put("connections", connections));
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
