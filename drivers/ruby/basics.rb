# The workload binding-basics, the same in every binding; the reasons are in
# crates/bench/src/workload/binding_basics.rs.

class Basics
  MODULUS = 2_147_483_647
  MULTIPLIER = 48_271
  STRIDE = 7_919
  BATCH = 50
  WIDTH = 1_000
  STATEMENTS = 13

  # The sums of rows: count, numbers, characters of names, prices in quarters.
  class Sums
    def initialize
      @rows = @numbers = @characters = @quarters = 0
    end

    def add(number, name, price)
      @rows += 1
      @numbers += number
      @characters += name.length
      @quarters += (price * 4).to_i
    end

    def to_s
      "#{@rows}/#{@numbers}/#{@characters}/#{@quarters}"
    end
  end

  def self.measure(binding_class, spec)
    names = spec["binding"]["read_back"]
    fresh = binding_class.new(File.join(spec["directory"], "defaults.db"), [], {})
    defaults = fresh.read_back(names)
    fresh.close
    database = File.join(spec["directory"], "test.db")
    binding = binding_class.new(database, spec["binding"]["pragmas"], spec["settings"])
    basics = new(binding, spec["settings"], spec["seed"])
    metrics = basics.run
    measured = {
      metrics: metrics,
      engine: binding.engine,
      connections: [{ connection: "main", pragmas: binding.read_back(names) }],
      binding: { name: binding.name, compile_options: binding.column("PRAGMA compile_options"), defaults: defaults },
      checksum: basics.wanted.join(" "),
    }
    binding.close
    measured
  end

  def initialize(binding, settings, seed)
    @binding = binding
    start = seed % MODULUS
    count = settings["rows"]
    @rows = (1..count).map do |key|
      number = (key * MULTIPLIER + start) % MODULUS
      [key, number, "item #{number % 1_000_000}", number % 10_000 / 4.0]
    end
    @width = [count, WIDTH].min
    spread = ->(number, choices) { (number * STRIDE + start) % choices + 1 }
    @keys = Array.new(settings["reads"]) { |number| spread.call(number, count) }
    starts = Array.new(settings["scans"]) { |number| spread.call(number, count - @width + 1) }
    @ranges = starts.map { |first| first...first + @width }
    @tasks = Array.new(settings["tasks"]) { |number| format("task-%08d", number) }
    @read = Sums.new
    @scanned = Sums.new
  end

  def run
    %w[single reused batch].each do |table|
      @binding.execute("CREATE TABLE #{table}(id INTEGER PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL, price REAL NOT NULL)")
    end
    @binding.execute("CREATE TABLE tasks(id VARCHAR(16) NOT NULL PRIMARY KEY, status VARCHAR(16) NOT NULL, cmd VARCHAR(16) NOT NULL, args TEXT NOT NULL, output TEXT)")
    @binding.execute("CREATE INDEX tasks_status ON tasks(status)")
    @binding.warm
    metrics = { "seconds" => 0.0, "cpu_user_s" => 0.0, "cpu_system_s" => 0.0 }
    parts.each { |part, (rows, work)| time(metrics, part, rows, &work) }
    say(phase: "verify")
    verify
    metrics
  end

  def parts
    count = @rows.length
    {
      "insert-single" => [count, -> { @binding.in_transaction { @binding.insert_single(@rows) } }],
      "insert-reused" => [count, -> { @binding.in_transaction { @binding.insert_reused(@rows) } }],
      "insert-batch" => [count, -> { @binding.in_transaction { @binding.insert_batch(@rows, BATCH) } }],
      "point-read" => [@keys.length, -> { @binding.point_read(@keys) { |*row| @read.add(*row) } }],
      "range-scan" => [@ranges.length * @width, -> { @binding.range_scan(@ranges) { |*row| @scanned.add(*row) } }],
      "task-statement" => [@tasks.length * STATEMENTS, -> { live }],
    }
  end

  def time(metrics, part, rows)
    say(phase: part)
    cpu = Process.times
    begin_ns = now
    yield
    elapsed = [now - begin_ns, 1].max
    after = Process.times
    metrics["seconds.#{part}"] = elapsed / 1e9
    metrics["ns_per_row.#{part}"] = elapsed.fdiv(rows)
    metrics["seconds"] += elapsed / 1e9
    metrics["cpu_user_s"] += after.utime - cpu.utime
    metrics["cpu_system_s"] += after.stime - cpu.stime
  end

  def live
    before = changes
    @binding.live(@tasks)
    @changed = changes - before
  end

  def changes
    @binding.column("SELECT total_changes()").first
  end

  # The sums of all rows, of those read by key and of those scanned.
  def wanted
    adding = ->(rows) { rows.each_with_object(Sums.new) { |row, sums| sums.add(*row.drop(1)) } }
    read = @keys.map { |key| @rows[key - 1] }
    scanned = @ranges.flat_map { |range| @rows[range.begin - 1...range.end - 1] }
    [@rows, read, scanned].map { |rows| adding.call(rows).to_s }
  end

  def verify
    rows, read, scanned = wanted
    %w[single reused batch].each do |table|
      found = @binding.column("SELECT count(*) || '/' || sum(number) || '/' || sum(length(name)) || '/' || CAST(sum(price) * 4 AS INTEGER) FROM #{table}").first
      WrongResult.unless_equal("what the table #{table} adds up to", found, rows)
    end
    WrongResult.unless_equal("what point reads add up to", @read.to_s, read)
    WrongResult.unless_equal("what range scans add up to", @scanned.to_s, scanned)
    WrongResult.unless_equal("the rows changed by tasks", @changed, @tasks.length * STATEMENTS)
    WrongResult.unless_equal("the tasks left", @binding.column("SELECT count(*) FROM tasks").first, 0)
  end
end
