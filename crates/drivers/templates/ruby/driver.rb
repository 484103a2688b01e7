# The protocol between pragmark and a driver. Your own code is in work.rb.
require "json"
require "sqlite3"
require_relative "work"

def describe(database)
  version, source_id = database.execute("SELECT sqlite_version(), sqlite_source_id()").first
  { name: "Ruby #{RUBY_VERSION}, sqlite3 #{SQLite3::VERSION}", version: version, source_id: source_id,
    compile_options: database.execute("PRAGMA compile_options").map(&:first), defaults: {} }
end

def trial(spec)
  database = SQLite3::Database.new(File.join(spec["directory"], "app.db"))
  spec["binding"]["pragmas"].each { |pragma| database.execute(pragma) }
  metrics, result = work(database, spec["settings"])
  pragmas = spec["binding"]["read_back"].to_h { |name| [name, database.execute("PRAGMA main.#{name}").first] }
  { measured: { metrics: metrics, engine: describe(database), binding: describe(database), checksum: result,
                connections: [{ connection: "main", pragmas: pragmas.compact.transform_values { _1[0].to_s } }] } }
end

if ARGV == ["describe"]
  puts JSON.generate(describe(SQLite3::Database.new(":memory:")))
else
  puts JSON.generate(outcome: trial(JSON.parse($stdin.read)))
end
