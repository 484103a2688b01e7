package driver

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// The workload binding-basics, the same in every binding; the reasons are in
// crates/bench/src/workload/binding_basics.rs.

const (
	modulus    = 2_147_483_647
	multiplier = 48_271
	stride     = 7_919
	batch      = 50
	width      = 1_000
	statements = 13
)

var background = context.Background()

type row struct {
	key, number int64
	name        string
	price       float64
}

// sums are the sums of rows: count, numbers, characters of names, prices in quarters.
type sums struct{ rows, numbers, characters, quarters int64 }

func (s *sums) add(number int64, name string, price float64) {
	s.rows++
	s.numbers += number
	s.characters += int64(len(name))
	s.quarters += int64(price * 4)
}

func (s sums) String() string {
	return fmt.Sprintf("%d/%d/%d/%d", s.rows, s.numbers, s.characters, s.quarters)
}

type basics struct {
	c       *connection
	data    []row
	keys    []int64
	starts  []int64
	width   int64
	tasks   []string
	read    sums
	scanned sums
	changed int64
}

func newBasics(c *connection, settings map[string]any, seed uint64) (*basics, error) {
	amount := map[string]uint64{}
	for _, name := range []string{"rows", "reads", "scans", "tasks"} {
		value, ok := settings[name].(float64)
		if !ok || value < 1 {
			return nil, fmt.Errorf("the setting %s is %v, but must be a whole number of at least 1", name, settings[name])
		}
		amount[name] = uint64(value)
	}
	start, count := seed%modulus, amount["rows"]
	b := &basics{c: c, width: int64(min(count, width))}
	for key := uint64(1); key <= count; key++ {
		number := (key*multiplier + start) % modulus
		b.data = append(b.data, row{
			int64(key), int64(number), fmt.Sprintf("item %d", number%1_000_000), float64(number%10_000) / 4,
		})
	}
	spread := func(number, choices uint64) int64 { return int64((number*stride+start)%choices + 1) }
	for number := range amount["reads"] {
		b.keys = append(b.keys, spread(number, count))
	}
	for number := range amount["scans"] {
		b.starts = append(b.starts, spread(number, count-uint64(b.width)+1))
	}
	for number := range amount["tasks"] {
		b.tasks = append(b.tasks, fmt.Sprintf("task-%08d", number))
	}
	return b, nil
}

func (b *basics) execute(query string, values ...any) error {
	_, err := b.c.ExecContext(background, query, values...)
	return err
}

func (b *basics) run(phase func(string)) (map[string]float64, error) {
	if err := b.createTables(); err != nil {
		return nil, err
	}
	metrics := map[string]float64{}
	for _, part := range []struct {
		name string
		work func() (int, error)
	}{
		{"insert-single", b.insertSingle},
		{"insert-reused", b.insertReused},
		{"insert-batch", b.insertBatch},
		{"point-read", b.pointRead},
		{"range-scan", b.rangeScan},
		{"task-statement", b.live},
	} {
		phase(part.name)
		if err := measure(metrics, part.name, part.work); err != nil {
			return nil, err
		}
	}
	phase("verify")
	return metrics, b.verify()
}

func measure(metrics map[string]float64, part string, work func() (int, error)) error {
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		return err
	}
	begin := time.Now()
	rows, err := work()
	elapsed := max(float64(time.Since(begin).Nanoseconds()), 1)
	if err != nil {
		return err
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		return err
	}
	metrics["seconds."+part] = elapsed / 1e9
	metrics["ns_per_row."+part] = elapsed / float64(rows)
	metrics["seconds"] += elapsed / 1e9
	metrics["cpu_user_s"] += float64(after.Utime.Nano()-before.Utime.Nano()) / 1e9
	metrics["cpu_system_s"] += float64(after.Stime.Nano()-before.Stime.Nano()) / 1e9
	return nil
}

func (b *basics) createTables() error {
	for _, table := range []string{"single", "reused", "batch"} {
		query := "CREATE TABLE " + table + "(id INTEGER PRIMARY KEY, number INTEGER NOT NULL, name TEXT NOT NULL, price REAL NOT NULL)"
		if err := b.execute(query); err != nil {
			return err
		}
	}
	if err := b.execute("CREATE TABLE tasks(id VARCHAR(16) NOT NULL PRIMARY KEY, status VARCHAR(16) NOT NULL, cmd VARCHAR(16) NOT NULL, args TEXT NOT NULL, output TEXT)"); err != nil {
		return err
	}
	return b.execute("CREATE INDEX tasks_status ON tasks(status)")
}

func (b *basics) inTransaction(work func() error) (int, error) {
	if err := b.execute("BEGIN"); err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	return len(b.data), b.execute("COMMIT")
}

func (b *basics) insertSingle() (int, error) {
	return b.inTransaction(func() error {
		for _, r := range b.data {
			if err := b.execute("INSERT INTO single VALUES (?, ?, ?, ?)", r.key, r.number, r.name, r.price); err != nil {
				return err
			}
		}
		return nil
	})
}

// with prepares a statement for the duration of the work.
func (b *basics) with(query string, work func(*sql.Stmt) error) error {
	return b.withAll([]string{query}, func(prepared []*sql.Stmt) error { return work(prepared[0]) })
}

// withAll prepares statements, each once, for the duration of the work.
func (b *basics) withAll(queries []string, work func([]*sql.Stmt) error) error {
	var prepared []*sql.Stmt
	for _, query := range queries {
		statement, err := b.c.PrepareContext(background, query)
		if err != nil {
			return err
		}
		defer statement.Close()
		prepared = append(prepared, statement)
	}
	return work(prepared)
}

func (b *basics) insertReused() (int, error) {
	return b.inTransaction(func() error {
		return b.with("INSERT INTO reused VALUES (?, ?, ?, ?)", func(insert *sql.Stmt) error {
			for _, r := range b.data {
				if _, err := insert.Exec(r.key, r.number, r.name, r.price); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (b *basics) insertBatch() (int, error) {
	values := strings.TrimSuffix(strings.Repeat("(?, ?, ?, ?), ", batch), ", ")
	return b.inTransaction(func() error {
		return b.with("INSERT INTO batch VALUES "+values, func(insert *sql.Stmt) error {
			for first := 0; first < len(b.data); first += batch {
				bound := make([]any, 0, 4*batch)
				for _, r := range b.data[first : first+batch] {
					bound = append(bound, r.key, r.number, r.name, r.price)
				}
				if _, err := insert.Exec(bound...); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

func (b *basics) pointRead() (int, error) {
	query := "SELECT number, name, price FROM reused WHERE id = ?"
	err := b.with(query, func(query *sql.Stmt) error {
		for _, key := range b.keys {
			var number int64
			var name string
			var price float64
			if err := query.QueryRow(key).Scan(&number, &name, &price); err != nil {
				return err
			}
			b.read.add(number, name, price)
		}
		return nil
	})
	return len(b.keys), err
}

func (b *basics) rangeScan() (int, error) {
	query := "SELECT id, number, name, price FROM reused WHERE id >= ? AND id < ?"
	err := b.with(query, func(query *sql.Stmt) error {
		for _, start := range b.starts {
			if err := b.scan(query, start); err != nil {
				return err
			}
		}
		return nil
	})
	return len(b.starts) * int(b.width), err
}

func (b *basics) scan(query *sql.Stmt, start int64) error {
	rows, err := query.Query(start, start+b.width)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, number int64
		var name string
		var price float64
		if err := rows.Scan(&id, &number, &name, &price); err != nil {
			return err
		}
		b.scanned.add(number, name, price)
	}
	return rows.Err()
}

func (b *basics) live() (int, error) {
	before, err := b.changes()
	if err != nil {
		return 0, err
	}
	if err := b.withAll(life, b.liveAll); err != nil {
		return 0, err
	}
	after, err := b.changes()
	b.changed = after - before
	return len(b.tasks) * statements, err
}

// life is the life of a task: it is inserted, claimed, updated and deleted.
var life = []string{
	"INSERT INTO tasks(id, status, cmd, args) VALUES (?, 'pending', 'example', ?)",
	"UPDATE tasks SET status = 'processing' WHERE id = ?",
	"UPDATE tasks SET output = ? WHERE id = ?",
	"DELETE FROM tasks WHERE id = ?",
}

func (b *basics) liveAll(prepared []*sql.Stmt) error {
	for _, task := range b.tasks {
		if err := liveOnce(task, prepared); err != nil {
			return err
		}
	}
	return nil
}

func liveOnce(task string, prepared []*sql.Stmt) error {
	insert, take, write, remove := prepared[0], prepared[1], prepared[2], prepared[3]
	if _, err := insert.Exec(task, `["a","b","c"]`); err != nil {
		return err
	}
	if _, err := take.Exec(task); err != nil {
		return err
	}
	for line := range 10 {
		if _, err := write.Exec(fmt.Sprintf("line %d of some kind of output", line), task); err != nil {
			return err
		}
	}
	_, err := remove.Exec(task)
	return err
}

func (b *basics) changes() (changes int64, err error) {
	err = b.c.QueryRowContext(background, "SELECT total_changes()").Scan(&changes)
	return
}

// wanted are the sums of all rows, of those read by key and of those scanned.
func (b *basics) wanted() (all, read, scanned sums) {
	for _, r := range b.data {
		all.add(r.number, r.name, r.price)
	}
	for _, key := range b.keys {
		r := b.data[key-1]
		read.add(r.number, r.name, r.price)
	}
	for _, start := range b.starts {
		for _, r := range b.data[start-1 : start-1+b.width] {
			scanned.add(r.number, r.name, r.price)
		}
	}
	return
}

func expect[T comparable](what string, found, wanted T) error {
	if found != wanted {
		return fmt.Errorf("wrong result: %s is %v instead of %v", what, found, wanted)
	}
	return nil
}

func (b *basics) verify() error {
	all, read, scanned := b.wanted()
	for _, table := range []string{"single", "reused", "batch"} {
		var found sums
		query := "SELECT count(*), sum(number), sum(length(name)), CAST(sum(price) * 4 AS INTEGER) FROM " + table
		row := b.c.QueryRowContext(background, query)
		if err := row.Scan(&found.rows, &found.numbers, &found.characters, &found.quarters); err != nil {
			return err
		}
		if err := expect("what the table "+table+" adds up to", found, all); err != nil {
			return err
		}
	}
	var left int64
	if err := b.c.QueryRowContext(background, "SELECT count(*) FROM tasks").Scan(&left); err != nil {
		return err
	}
	for _, err := range []error{
		expect("what point reads add up to", b.read, read),
		expect("what range scans add up to", b.scanned, scanned),
		expect("the rows changed by tasks", b.changed, int64(len(b.tasks)*statements)),
		expect("the tasks left", left, 0),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *basics) checksum() string {
	all, read, scanned := b.wanted()
	return fmt.Sprintf("%v %v %v", all, read, scanned)
}
