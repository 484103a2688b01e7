# What the workload orm drives: SQLite, or a PostgreSQL server in a schema of the trial's own.

class OrmTarget
  TABLES = %w[people parties json_parties].freeze

  def self.of(spec)
    case spec["settings"].fetch("target", "sqlite")
    when "sqlite" then OnSqlite.new(spec)
    when "postgres" then OnPostgres.new(spec)
    else raise CannotRun, "this driver cannot drive #{spec["settings"]["target"]}"
    end
  end

  def initialize(spec)
    @spec = spec
  end

  def connection
    ActiveRecord::Base.connection
  end

  def create_tables
    connection.execute("CREATE TABLE parties(id #{key}, theme VARCHAR)")
    connection.execute("CREATE TABLE people(id #{key}, party_id INTEGER, other_party_id INTEGER, name VARCHAR, address VARCHAR)")
    connection.execute("CREATE TABLE json_parties(id #{key}, stuff TEXT)")
  end

  def empty_tables
    ActiveRecord::Base.transaction { TABLES.each { |table| connection.execute("DELETE FROM #{table}") } }
  end

  # A thread that waits for a lock within SQLite holds Ruby's own lock; some targets must wait differently.
  def waiting_in_threads(_connection)
    yield
  end

  class OnSqlite < OrmTarget
    def defaults
      fresh = Active.new(File.join(@spec["directory"], "defaults.db"), [], {})
      defaults = fresh.read_back(names)
      fresh.close
      defaults
    end

    def connect
      database = File.join(@spec["directory"], "test.db")
      @active = Active.new(database, @spec["binding"]["pragmas"], @spec["settings"])
      # Every connection of the pool has the same configuration, which `connections` verifies.
      @busy_timeout = @active.read_back(["busy_timeout"])["busy_timeout"].to_i
    end

    def name
      @active.name
    end

    def engine
      @active.engine
    end

    def compile_options
      @active.column("PRAGMA compile_options")
    end

    def connections
      [
        { connection: "main", pragmas: @active.read_back(names) },
        { connection: "thread", pragmas: @active.read_back_of_thread(names) },
      ]
    end

    # SQLite's answers that are numbers, and whether the journal mode, which is a name, is WAL.
    def numbers(wanted)
      numbers = @active.read_back(wanted).transform_values { |answer| Integer(answer, exception: false) }.compact
      wal = @active.column("PRAGMA main.journal_mode").first == "wal"
      numbers.merge("journal_mode_wal" => wal ? 1 : 0)
    end

    def close
      @active.close
    end

    def key
      "INTEGER PRIMARY KEY AUTOINCREMENT"
    end

    def pumpkin
      "json_extract(stuff, '$.pumpkin') = 1"
    end

    def set_pumpkin
      "stuff = json_set(stuff, '$.pumpkin', '2')"
    end

    # Waiting inside SQLite would block every other Ruby thread, including the one that holds the lock. So
    # Ruby waits, for the time of busy_timeout, in the same steps as
    # crates/bench/src/workload/orm/pool.rs. Installing a handler sets busy_timeout to 0, so it is set again;
    # PRAGMAs are read back after the clock stops.
    def waiting_in_threads(connection)
      limit = @busy_timeout * 1_000_000
      since = nil
      connection.raw_connection.busy_handler do |count|
        since = now if count.zero?
        sleep(0.0005)
        now - since < limit
      end
      yield
    ensure
      connection.raw_connection.busy_timeout(@busy_timeout)
    end

    private

    def names
      @spec["binding"]["read_back"]
    end
  end

  class OnPostgres < OrmTarget
    # The schema of every trial, created after removing that of a killed one.
    SCHEMA = "pragmark_trial".freeze

    # Held by the trial's first session, so that two trials never share the schema. It is the lock of
    # crates/bench/src/target/postgres.rs.
    LOCK = 8_102_645_776_437_572_203

    # Nanoseconds within which a trial that has ended must have lost the lock.
    PATIENCE = 10_000_000_000

    attr_reader :connections

    def initialize(spec)
      super
      load_pg
      raise CannotRun, "the specification names no PostgreSQL server" unless spec["postgres"]

      @connections = []
    end

    def defaults
      {}
    end

    def connect
      occupy
      given = PG::Connection.conninfo_parse(@spec["postgres"]).select { |option| option[:val] }
      options = given.to_h { |option| [option[:keyword].to_sym, option[:val]] }
      ActiveRecord::Base.establish_connection(
        adapter: "postgresql", pool: Active.connections(@spec["settings"]), schema_search_path: SCHEMA,
        variables: { synchronous_commit: @spec["settings"].fetch("synchronous_commit", "on") },
        database: options.delete(:dbname), username: options.delete(:user), **options
      )
    end

    def name
      "#{Active.version}, pg #{PG::VERSION}"
    end

    def engine
      { version: "PostgreSQL #{connection.select_value("SHOW server_version")}", source_id: "" }
    end

    def compile_options
      []
    end

    def numbers(_wanted)
      {}
    end

    def close
      ActiveRecord::Base.remove_connection
      @first.exec("DROP SCHEMA #{SCHEMA} CASCADE")
      @first.close
    end

    def key
      "SERIAL PRIMARY KEY"
    end

    def pumpkin
      "(stuff::jsonb->>'pumpkin')::integer = 1"
    end

    def set_pumpkin
      "stuff = jsonb_set(stuff::jsonb, '{pumpkin}', '\"2\"')::text"
    end

    private

    # The trial's first session, the last to end: it creates, locks and removes the schema.
    def occupy
      @first = PG.connect(@spec["postgres"])
      lock
      @first.exec("SET client_min_messages = warning")
      @first.exec("DROP SCHEMA IF EXISTS #{SCHEMA} CASCADE; CREATE SCHEMA #{SCHEMA}")
    end

    # A killed trial holds the lock until the server notices.
    def lock
      deadline = now + PATIENCE
      until @first.exec("SELECT pg_try_advisory_lock(#{LOCK})").getvalue(0, 0) == "t"
        raise CannotRun, "another pragmark process uses the schema #{SCHEMA} of this server" if now >= deadline

        sleep(0.05)
      end
    end

    # The gem in the version that ActiveRecord requires.
    def load_pg
      gem "pg", "~> 1.1"
      require "pg"
    rescue LoadError => error
      raise CannotRun, "#{error.message}; #{HINTS.fetch("activerecord")}"
    end
  end
end
