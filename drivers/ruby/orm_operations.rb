# The operations of the workload orm: the rows before each, its work, and the expected rows after.

class OrmOperations
  # Rows to create, the work, its check, and the rows (or statements) by which its time is divided.
  Operation = Struct.new(:work, :check, :rows)

  THREADS = %w[light-threading heavy-threading].freeze

  def initialize(target, settings)
    @target = target
    @n = settings.fetch("n")
    @corrected = settings.fetch("mode") == "corrected"
  end

  def names
    %w[
      creation select select-by-pk select-by-attr select-and-save destruction associated-creation
      eager-each-1-1 eager-joined-1-1 eager-each-1-n eager-joined-1-n eager-each-1-n-n eager-joined-1-n-n
      lazy-1-1 lazy-1-n select-json-nested update-json-nested update-json light-threading heavy-threading
    ]
  end

  # Creates the rows of an operation, which is then ready to run.
  def prepare(name, in_transaction)
    @in_transaction = in_transaction
    send(name.tr("-", "_"))
  end

  private

  # According to the article's figures, a single object within a transaction.
  def single?
    @in_transaction && !@corrected
  end

  def connection
    ActiveRecord::Base.connection
  end

  def equal(what, found, wanted)
    WrongResult.unless_equal(what, found, wanted)
  end

  # The numbers from 1 to `count` as a table `n(i)`, in SQL that every target understands.
  def numbers(count)
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < #{count})"
  end

  def make_parties(count)
    connection.execute("INSERT INTO parties(theme) #{numbers(count)} SELECT 'Party ' || i FROM n")
    Party.order(:id).pluck(:id)
  end

  def make_people(each, column)
    connection.execute("INSERT INTO people(#{column}, name) #{numbers(each)} SELECT p.id, 'Person ' || i FROM parties p, n ORDER BY p.id, i")
  end

  def make_json(count)
    connection.execute("INSERT INTO json_parties(stuff) #{numbers(count)} SELECT '{\"pumpkin\":1,\"candy\":1}' FROM n")
    JsonParty.order(:id).pluck(:id)
  end

  def creation
    count = @corrected ? 50 * @n : 1
    work = -> { count.times { |i| Party.create!(theme: "Party #{i}") } }
    Operation.new(work, -> { equal("the parties made", Party.count, count) }, count)
  end

  # The article's relation is built and never executed.
  def select
    count = 100 * @n
    make_parties(count)
    found = nil
    work = -> { found = @corrected ? Party.all.to_a : Party.all }
    check = -> { equal("the parties loaded", found.to_a.length, count) }
    Operation.new(work, check, @corrected ? count : 0)
  end

  def select_by_pk
    found_by { |id| Party.find(id) }
  end

  def select_by_attr
    found_by { |id| Party.where(id: id).first }
  end

  def found_by
    ids = make_parties(10 * @n)
    sum = 0
    work = -> { ids.each { |id| sum += yield(id).id } }
    Operation.new(work, -> { equal("the sum of the ids found", sum, ids.sum) }, ids.length)
  end

  def select_and_save
    count = make_parties(50 * @n).length
    characters = Party.sum("length(theme)")
    work = -> { Party.all.each { |party| party.update!(theme: "#{party.theme}1") } }
    check = lambda do
      equal("the characters of all themes", Party.sum("length(theme)"), characters + count)
      equal("the themes that end in 1", Party.where("theme LIKE '%1'").count, count)
    end
    Operation.new(work, check, count)
  end

  def destruction
    count = 100 * @n
    make_parties(count)
    parties = Party.order(:id).to_a
    gone = single? ? parties.first(1) : parties
    work = -> { gone.each(&:destroy!) }
    Operation.new(work, -> { equal("the parties left", Party.count, count - gone.length) }, gone.length)
  end

  def associated_creation
    count = single? ? 1 : 20 * @n
    work = lambda do
      count.times do
        party = Party.create!(theme: "X-mas")
        party.people.create!(name: "Test_id")
      end
    end
    check = -> { equal("the people with a party", Person.joins(:party).count, count) }
    Operation.new(work, check, 2 * count)
  end

  def eager_each_1_1
    eager(20 * @n, 1) { Party.preload(:people) }
  end

  def eager_joined_1_1
    eager(20 * @n, 1) { Party.eager_load(:people) }
  end

  def eager_each_1_n
    eager(@n, @n) { Party.preload(:people) }
  end

  def eager_joined_1_n
    eager(@n, @n) { Party.eager_load(:people) }
  end

  def eager_each_1_n_n
    eager_both { Party.preload(:people, :other_people) }
  end

  def eager_joined_1_n_n
    eager_both { Party.eager_load(:people, :other_people) }
  end

  def eager(parties, each)
    make_parties(parties)
    make_people(each, "party_id")
    people = 0
    work = -> { yield.each { |party| people += party.people.length } }
    Operation.new(work, -> { equal("the people loaded", people, parties * each) }, parties * each)
  end

  def eager_both
    make_parties(@n)
    make_people(@n, "party_id")
    make_people(@n, "other_party_id")
    people = 0
    work = -> { yield.each { |party| people += party.people.length + party.other_people.length } }
    Operation.new(work, -> { equal("the people loaded", people, 2 * @n * @n) }, 2 * @n * @n)
  end

  def lazy_1_1
    eager(20 * @n, 1) { Party.all }
  end

  def lazy_1_n
    eager(@n, @n) { Party.all }
  end

  def select_json_nested
    ids = make_json(10 * @n)
    found = 0
    work = -> { ids.each { found += 1 if JsonParty.where(@target.pumpkin).first } }
    Operation.new(work, -> { equal("the parties found", found, ids.length) }, ids.length)
  end

  def update_json_nested
    ids = make_json(10 * @n)
    work = -> { ids.each { |id| JsonParty.where(id: id).update_all(@target.set_pumpkin) } }
    check = -> { equal("the pumpkins", JsonParty.pluck(:stuff).uniq, [{ "pumpkin" => "2", "candy" => 1 }]) }
    Operation.new(work, check, ids.length)
  end

  def update_json
    ids = make_json(10 * @n)
    work = -> { ids.each { |id| JsonParty.find(id).update!(stuff: { "pumpkin" => 2, "candy" => 1 }) } }
    check = -> { equal("the pumpkins", JsonParty.pluck(:stuff).uniq, [{ "pumpkin" => 2, "candy" => 1 }]) }
    Operation.new(work, check, ids.length)
  end

  def light_threading
    threads(Math.sqrt(@n).round)
  end

  def heavy_threading
    threads(@n)
  end

  # Each thread creates n parties, then finds, renames and deletes each of them. In the article each thread
  # ends before the next one begins.
  def threads(count)
    themes = Queue.new
    work = lambda do
      if @corrected
        Array.new(count) { in_thread(themes) }.each(&:join)
      else
        count.times { in_thread(themes).join }
      end
    end
    check = lambda do
      equal("the parties renamed", themes.size, count * @n)
      equal("the parties left", Party.count, 0)
    end
    Operation.new(work, check, 3 * @n * count)
  end

  def in_thread(themes)
    Thread.new do
      ActiveRecord::Base.connection_pool.with_connection do |connection|
        @corrected ? @target.waiting_in_threads(connection) { live(themes) } : live(themes)
      end
    end
  end

  def live(themes)
    ids = Array.new(@n) { |i| Party.create!(theme: "Party #{i}").id }
    ids.each do |id|
      party = Party.where(id: id).first
      party.theme = "Christmas"
      party.save!
      themes << party.theme
      party.destroy!
    end
  end
end
