# Runs one trial through a Ruby binding, as docs/protocol.md describes.
#
# Usage: driver.rb sqlite3|activerecord            reads a specification from standard input
#        driver.rb sqlite3|activerecord describe   describes the binding
#
# The work is in basics.rb and orm.rb; gem.rb and active.rb contain what differs between the bindings.

require "json"

PROTOCOL = 1
SHORT = %w[busy_timeout foreign_keys journal_mode synchronous].freeze
HINTS = {
  "activerecord" => "this driver needs ActiveRecord 6.1 with the gems sqlite3 1.4 and pg: `apt install " \
    "ruby-activerecord ruby-sqlite3 ruby-pg` (Debian 12), or `bundle install` in drivers/ruby",
  "sqlite3" => "this driver needs the gem sqlite3 1.4: `apt install ruby-sqlite3` (Debian 12), or `bundle install` in " \
    "drivers/ruby"
}.freeze

# The work was done, but its result is wrong.
class WrongResult < StandardError
  def self.unless_equal(what, found, wanted)
    raise self, "wrong result: #{what} is #{found} instead of #{wanted}" unless found == wanted
  end
end

# The variant cannot be run here.
class CannotRun < StandardError; end

def say(message)
  $stdout.puts(JSON.generate(message))
  $stdout.flush
end

def ended(how, why)
  { outcome: { how => { why: why } } }
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

def load_binding(name)
  case name
  when "sqlite3"
    require_relative "gem"
    Gem3
  when "activerecord"
    require_relative "active"
    Active
  else
    abort("there is no binding #{name}; there are sqlite3 and activerecord")
  end
end

def describe(binding_class)
  binding = binding_class.new(":memory:", [], {})
  description = {
    name: binding.name,
    **binding.engine,
    compile_options: binding.column("PRAGMA compile_options"),
    defaults: binding.read_back(SHORT),
  }
  binding.close
  description
end

def trial(binding_class, spec)
  return ended(:skipped, "this driver supports version #{PROTOCOL} of the protocol") if spec["protocol"] != PROTOCOL

  case spec["workload"]
  when "binding-basics"
    require_relative "basics"
    { outcome: { measured: Basics.measure(binding_class, spec) } }
  when "orm"
    return ended(:skipped, "this binding is not an object-relational mapper") unless binding_class.name == "Active"

    require_relative "orm"
    { outcome: { measured: Orm.measure(spec) } }
  else
    ended(:skipped, "this driver does not support the workload #{spec["workload"]}")
  end
rescue CannotRun => error
  ended(:skipped, error.message)
rescue StandardError => error
  ended(:failed, "#{error.class}: #{error.message} (#{error.backtrace.first})")
end

begin
  binding_class = load_binding(ARGV[0])
rescue LoadError => error
  why = "#{error.message}; #{HINTS.fetch(ARGV[0], HINTS["activerecord"])}"
  abort(why) if ARGV[1] == "describe"
  say(ended(:skipped, why))
  exit
end

if ARGV[1] == "describe"
  say(describe(binding_class))
else
  say(trial(binding_class, JSON.parse($stdin.read)))
end
