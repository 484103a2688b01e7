# The sqlite3 gem.

# The version of the lock file, whose defaults docs/bindings.md lists; version 2 has another interface. Without
# a version, Ruby uses the newest gem.
gem "sqlite3", "~> 1.4"
require "sqlite3"

# A connection of the sqlite3 gem, opened as in its documentation.
class Gem3
  def initialize(path, pragmas, _settings)
    @database = SQLite3::Database.new(path)
    pragmas.each { |pragma| @database.execute(pragma) }
  end

  def name
    "Ruby #{RUBY_VERSION}, sqlite3 #{SQLite3::VERSION}"
  end

  def close
    @database.close
  end

  def column(sql)
    @database.execute(sql).map(&:first)
  end

  def engine
    version, source_id = @database.execute("SELECT sqlite_version(), sqlite_source_id()").first
    { version: version, source_id: source_id }
  end

  # SQLite's answers to PRAGMAs, omitting those without an answer.
  def read_back(names)
    # Before a connection reads its file, it answers with requested values, not actual ones.
    column("PRAGMA schema_version")
    names.to_h { |name| [name, column("PRAGMA main.#{name}").first&.to_s] }.compact
  end

  def execute(sql)
    @database.execute(sql)
  end

  # Called after the tables are created; this binding needs no notice of it.
  def warm; end

  def in_transaction
    @database.execute("BEGIN")
    yield
    @database.execute("COMMIT")
  end

  def insert_single(rows)
    rows.each { |row| @database.execute("INSERT INTO single VALUES (?, ?, ?, ?)", row) }
  end

  def insert_reused(rows)
    insert = @database.prepare("INSERT INTO reused VALUES (?, ?, ?, ?)")
    rows.each { |row| insert.execute(*row) }
    insert.close
  end

  def insert_batch(rows, size)
    values = Array.new(size, "(?, ?, ?, ?)").join(", ")
    insert = @database.prepare("INSERT INTO batch VALUES #{values}")
    rows.each_slice(size) { |batch| insert.execute(*batch.flatten) }
    insert.close
  end

  def point_read(keys)
    query = @database.prepare("SELECT number, name, price FROM reused WHERE id = ?")
    keys.each { |key| query.execute(key).each { |number, name, price| yield number, name, price } }
    query.close
  end

  def range_scan(ranges)
    query = @database.prepare("SELECT id, number, name, price FROM reused WHERE id >= ? AND id < ?")
    ranges.each do |range|
      rows = query.execute(range.begin, range.end)
      rows.each { |_, number, name, price| yield number, name, price }
    end
    query.close
  end

  def live(tasks)
    insert = @database.prepare("INSERT INTO tasks(id, status, cmd, args) VALUES (?, 'pending', 'example', ?)")
    take = @database.prepare("UPDATE tasks SET status = 'processing' WHERE id = ?")
    write = @database.prepare("UPDATE tasks SET output = ? WHERE id = ?")
    delete = @database.prepare("DELETE FROM tasks WHERE id = ?")
    tasks.each do |task|
      insert.execute(task, '["a","b","c"]')
      take.execute(task)
      10.times { |line| write.execute("line #{line} of some kind of output", task) }
      delete.execute(task)
    end
    [insert, take, write, delete].each(&:close)
  end
end
