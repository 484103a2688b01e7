# Your own code, which pragmark measures. driver.rb calls it and speaks with pragmark.
def clock = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Returns the metrics in driver.toml, and the result, which must be the same in every variant.
def work(database, settings)
  database.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER)")
  latencies, start = [], clock
  settings["orders"].times do |number|
    before = clock
    database.execute("INSERT INTO orders(customer, cents) VALUES (?, ?)", [number % 100, number])
    latencies << clock - before
  end
  seconds = clock - start
  result = database.execute("SELECT count(*), sum(customer), sum(cents) FROM orders").first
  raise "#{result[0]} orders were stored" if result[0] != settings["orders"]

  metrics = { orders_per_s: result[0] / seconds, seconds: seconds,
              p50_us: latencies.sort[latencies.size / 2] * 1e6 }
  [metrics, result.to_s]
end
