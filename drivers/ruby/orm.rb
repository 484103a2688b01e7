# The workload orm: the operations of a benchmark of object-relational mappers, through ActiveRecord.
#
# The same operations are in crates/bench/src/workload/orm as plain SQL, with what follows the article and what
# is corrected. Creating the rows and checking the results is not timed; every table is empty between two
# operations.

require_relative "active"
require_relative "orm_operations"
require_relative "orm_target"

class Party < ActiveRecord::Base
  has_many :people
  has_many :other_people, class_name: "Person", foreign_key: :other_party_id
end

class Person < ActiveRecord::Base
  belongs_to :party
end

class JsonParty < ActiveRecord::Base
  attribute :stuff, :json
end

class Orm
  # Settings for which a trial reports the number that SQLite answers, so that claims can refer to it.
  NUMBERS = %w[busy_timeout cache_size cache_spill foreign_keys journal_size_limit mmap_size synchronous].freeze

  # Operations that only read; the others write.
  READS = %w[
    select select-by-pk select-by-attr eager-each-1-1 eager-joined-1-1 eager-each-1-n eager-joined-1-n
    eager-each-1-n-n eager-joined-1-n-n lazy-1-1 lazy-1-n select-json-nested
  ].freeze

  def self.measure(spec)
    target = OrmTarget.of(spec)
    defaults = target.defaults
    target.connect
    orm = new(spec, target)
    metrics = orm.run
    connections = target.connections
    metrics.merge!(orm.numbers)
    measured = {
      metrics: metrics,
      engine: target.engine,
      connections: connections,
      binding: { name: target.name, compile_options: target.compile_options, defaults: defaults },
    }
    target.close
    measured
  end

  def initialize(spec, target)
    @target = target
    @operations = OrmOperations.new(target, spec["settings"])
  end

  def run
    @target.create_tables
    warm
    metrics = {}
    @operations.names.each do |name|
      time(metrics, name, name, false)
      time(metrics, "#{name}-txn", name, true) unless OrmOperations::THREADS.include?(name)
    end
    sum(metrics)
  end

  # As published, the first operation creates a single object, so its time would be mostly that of the first
  # use of its model. The objects created here are rolled back.
  def warm
    [Party, Person, JsonParty].each { |model| Active.warm(model) }
    ActiveRecord::Base.transaction do
      Party.create!(theme: "warm").people.create!(name: "warm")
      JsonParty.create!(stuff: {})
      raise ActiveRecord::Rollback
    end
  end

  def time(metrics, metric, name, in_transaction)
    say(phase: metric)
    operation = @operations.prepare(name, in_transaction)
    GC.start
    cpu = Process.times
    begin_ns = now
    if in_transaction
      ActiveRecord::Base.transaction { operation.work.call }
    else
      operation.work.call
    end
    elapsed = [now - begin_ns, 1].max
    after = Process.times
    operation.check.call
    @target.empty_tables
    metrics["seconds.#{metric}"] = elapsed / 1e9
    metrics["ns_per_row.#{metric}"] = elapsed.fdiv(operation.rows) if operation.rows.positive?
    metrics["cpu_user_s"] = metrics.fetch("cpu_user_s", 0.0) + after.utime - cpu.utime
    metrics["cpu_system_s"] = metrics.fetch("cpu_system_s", 0.0) + after.stime - cpu.stime
  end

  def sum(metrics)
    seconds = metrics.select { |name, _| name.start_with?("seconds.") }
    reads, writes = seconds.partition { |name, _| READS.include?(name.delete_prefix("seconds.").delete_suffix("-txn")) }
    metrics["seconds.reads"] = reads.sum(&:last)
    metrics["seconds.writes"] = writes.sum(&:last)
    metrics["seconds"] = seconds.values.sum
    metrics
  end

  def numbers
    @target.numbers(NUMBERS).to_h { |name, number| ["read_back.#{name}", number] }
  end
end
