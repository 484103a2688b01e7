# ActiveRecord: the connection, and the work of binding-basics as a program would write it.

# From 7.1 on ActiveRecord tunes SQLite by itself (journal_mode, synchronous, mmap_size and more), so a
# variant would not have default PRAGMAs, and what is changed below has other names there. Without a version,
# Ruby uses the newest gem. The sqlite3 gem is the one that ActiveRecord 6.1 supports.
gem "activerecord", "~> 6.1.7"
gem "sqlite3", "~> 1.4"
require "active_record"
require "active_record/connection_adapters/sqlite3_adapter"

# Executes the PRAGMAs of the trial on every connection of the pool, after ActiveRecord's own, and begins
# transactions as the trial says.
module Tuned
  class << self
    attr_accessor :pragmas, :mode
  end
  self.pragmas = []
  self.mode = "deferred"

  def begin_db_transaction
    return super if Tuned.mode == "deferred"

    log("begin #{Tuned.mode} transaction", "TRANSACTION") { @connection.transaction(Tuned.mode) }
  end

  private

  def configure_connection
    super
    Tuned.pragmas.each { |pragma| execute(pragma, "SCHEMA") }
  end
end

ActiveRecord::ConnectionAdapters::SQLite3Adapter.prepend(Tuned)

module Tables
  %w[Single Reused Batch].each do |name|
    const_set(name, Class.new(ActiveRecord::Base) { self.table_name = name.downcase })
  end

  class Task < ActiveRecord::Base
    self.table_name = "tasks"
  end
end

# ActiveRecord with as many connections as the work needs.
class Active
  def self.version
    "Ruby #{RUBY_VERSION}, ActiveRecord #{ActiveRecord.version}"
  end

  # One connection per working thread, and one for the thread that waits for them. With fewer, threads
  # would wait for a connection and fail after five seconds.
  def self.connections(settings)
    settings.fetch("n", 0) + 1
  end

  # Reads what ActiveRecord reads of the schema when a model is first used, and defines the methods of its
  # objects. A program does this once, so it is not part of the work.
  def self.warm(model)
    model.connection.schema_cache.add(model.table_name)
    model.define_attribute_methods
  end

  def initialize(path, pragmas, settings)
    Tuned.pragmas = pragmas
    Tuned.mode = settings.fetch("transaction", "deferred")
    pool = Active.connections(settings)
    ActiveRecord::Base.establish_connection(adapter: "sqlite3", database: path, pool: pool)
  end

  def name
    "#{Active.version}, sqlite3 #{SQLite3::VERSION}"
  end

  def close
    ActiveRecord::Base.remove_connection
  end

  def connection
    ActiveRecord::Base.connection
  end

  def column(sql)
    connection.select_values(sql)
  end

  def engine
    version, source_id = connection.select_rows("SELECT sqlite_version(), sqlite_source_id()").first
    { version: version, source_id: source_id }
  end

  # SQLite's answers to PRAGMAs on a connection, omitting those without an answer.
  def read_back(names, asked = connection)
    # Before a connection reads its file, it answers with requested values, not actual ones.
    asked.select_values("PRAGMA schema_version")
    names.to_h { |name| [name, asked.select_values("PRAGMA main.#{name}").first&.to_s] }.compact
  end

  # The same on another connection of the pool, one that a working thread has returned; this thread keeps
  # its own.
  def read_back_of_thread(names)
    pool = ActiveRecord::Base.connection_pool
    other = pool.checkout
    read_back(names, other)
  ensure
    pool.checkin(other) if other
  end

  def execute(sql)
    connection.execute(sql)
  end

  # Called after the tables are created.
  def warm
    Tables.constants.each { |name| Active.warm(Tables.const_get(name)) }
  end

  def in_transaction(&work)
    ActiveRecord::Base.transaction(&work)
  end

  def attributes(row)
    { id: row[0], number: row[1], name: row[2], price: row[3] }
  end

  # One object per row.
  def insert_single(rows)
    rows.each { |row| Tables::Single.create!(attributes(row)) }
  end

  # A row without an object.
  def insert_reused(rows)
    rows.each { |row| Tables::Reused.insert!(attributes(row)) }
  end

  def insert_batch(rows, size)
    rows.each_slice(size) { |batch| Tables::Batch.insert_all!(batch.map { |row| attributes(row) }) }
  end

  def point_read(keys)
    keys.each do |key|
      row = Tables::Reused.find(key)
      yield row.number, row.name, row.price
    end
  end

  def range_scan(ranges)
    ranges.each do |range|
      Tables::Reused.where(id: range).each { |row| yield row.number, row.name, row.price }
    end
  end

  def live(tasks)
    tasks.each do |id|
      task = Tables::Task.create!(id: id, status: "pending", cmd: "example", args: '["a","b","c"]')
      task.update!(status: "processing")
      10.times { |line| task.update!(output: "line #{line} of some kind of output") }
      task.destroy!
    end
  end
end
