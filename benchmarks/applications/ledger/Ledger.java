import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** A ledger through JDBC: transfers in transactions, some rolled back, look-ups, errors. */
public final class Ledger {
  public static void main(String[] arguments) throws Exception {
    try (Connection db = DriverManager.getConnection("jdbc:sqlite:ledger.db"); Statement plain = db.createStatement()) {
      plain.execute("CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT UNIQUE, balance REAL)");
      plain.execute(
          "CREATE TABLE entry(id INTEGER PRIMARY KEY, account INTEGER REFERENCES account, note TEXT, amount REAL, seal BLOB)");
      try (PreparedStatement open = db.prepareStatement("INSERT INTO account(name, balance) VALUES (?, ?)");
          PreparedStatement read = db.prepareStatement("SELECT balance FROM account WHERE id = ?");
          PreparedStatement change = db.prepareStatement("UPDATE account SET balance = ? WHERE id = ?");
          PreparedStatement write = db.prepareStatement("INSERT INTO entry(account, note, amount, seal) VALUES (?, ?, ?, ?)")) {
        for (int i = 0; i < 50; i++) {
          add(open, i);
        }
        for (int i = 0; i < 300; i++) {
          transfer(db, i, read, change, write);
          int id = i * 7 % 50 + 1;
          try (ResultSet latest = plain.executeQuery("SELECT note, amount FROM entry WHERE account = " + id + " ORDER BY id DESC")) {
            latest.next();
          }
          if (i % 20 == 0) {
            try {
              add(open, i);
            } catch (SQLException error) {
              // The name is taken.
            }
          }
        }
      }
    }
  }

  private static void add(PreparedStatement open, int i) throws SQLException {
    open.setString(1, "Konto №" + i);
    open.setDouble(2, 100.1);
    open.executeUpdate();
  }

  private static void transfer(Connection db, int i, PreparedStatement read, PreparedStatement change, PreparedStatement write)
      throws Exception {
    int id = i * 7 % 50 + 1;
    db.setAutoCommit(false);
    read.setInt(1, id);
    double balance;
    try (ResultSet row = read.executeQuery()) {
      row.next();
      balance = row.getDouble(1);
    }
    change.setDouble(1, balance - 0.1 * i);
    change.setInt(2, id);
    change.executeUpdate();
    write.setInt(1, id);
    write.setString(2, "it's entry " + i);
    write.setDouble(3, 0.1 * i);
    write.setBytes(4, MessageDigest.getInstance("MD5").digest(Integer.toString(i).getBytes()));
    write.executeUpdate();
    if (i % 10 == 0) {
      db.rollback();
    } else {
      db.commit();
    }
    db.setAutoCommit(true);
  }
}
