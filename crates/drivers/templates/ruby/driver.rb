# Measures your own code. Replace `work`; the rest is the protocol between pragmark and a driver.
require "json"
require "sqlite3"

def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

def work(database, settings, latencies)
  settings["orders"].times do |number|
    start = clock
    database.execute("INSERT INTO orders(customer, cents) VALUES (?, ?)", [number % 100, number])
    latencies << clock - start
  end
end

def describe(database)
  version, source_id = database.execute("SELECT sqlite_version(), sqlite_source_id()").first
  { name: "Ruby #{RUBY_VERSION}, sqlite3 #{SQLite3::VERSION}", version: version, source_id: source_id,
    compile_options: database.execute("PRAGMA compile_options").map(&:first), defaults: {} }
end

def trial(spec)
  database = SQLite3::Database.new(File.join(spec["directory"], "app.db"))
  spec["binding"]["pragmas"].each { |pragma| database.execute(pragma) }
  database.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER)")
  latencies, start = [], clock
  work(database, spec["settings"], latencies)
  seconds = clock - start
  result = database.execute("SELECT count(*), sum(customer), sum(cents) FROM orders").first
  return { failed: { why: "#{result[0]} orders were stored" } } if result[0] != spec["settings"]["orders"]

  pragmas = spec["binding"]["read_back"].to_h { |name| [name, database.execute("PRAGMA main.#{name}").first] }
  metrics = { orders_per_s: result[0] / seconds, seconds: seconds,
              p50_us: latencies.sort[latencies.size / 2] * 1e6 }
  { measured: { metrics: metrics, engine: describe(database), binding: describe(database), checksum: result.to_s,
                connections: [{ connection: "main", pragmas: pragmas.compact.transform_values { _1[0].to_s } }] } }
end

if ARGV == ["describe"]
  puts JSON.generate(describe(SQLite3::Database.new(":memory:")))
else
  puts JSON.generate(outcome: trial(JSON.parse($stdin.read)))
end
