package driver

import (
	"context"
	"fmt"
	"math/bits"
	"os"
	"slices"
	"time"
)

// Figures of the workload queue, its checks, and the random numbers of crates/lab/src/seed.rs.

// latencies are those of each kind of operation.
type latencies map[string][]time.Duration

func (l latencies) add(other latencies) {
	for kind, found := range other {
		l[kind] = append(l[kind], found...)
	}
}

// note adds percentiles, as far as the number of operations allows.
func note(metrics map[string]any, suffix string, found []time.Duration) {
	slices.Sort(found)
	for _, percentile := range []struct {
		name string
		at   float64
		from int
	}{{"p50_us", 0.5, 1}, {"p90_us", 0.9, 10}, {"p99_us", 0.99, 1_000}, {"p999_us", 0.999, 10_000}} {
		if len(found) >= percentile.from {
			place := min(int(percentile.at*float64(len(found))), len(found)-1)
			metrics[percentile.name+suffix] = float64(found[place].Nanoseconds()) / 1e3
		}
	}
	metrics["max_us"+suffix] = float64(found[len(found)-1].Nanoseconds()) / 1e3
}

func (q *queue) run(phase func(string)) (map[string]any, error) {
	phase("work")
	all, seconds := latencies{}, []float64{}
	opened, openingNs := q.connector.opened.Load(), q.connector.openingNs.Load()
	for number := range q.repeats {
		found, took, err := q.repetition(number)
		if err != nil {
			return nil, err
		}
		all.add(found)
		seconds = append(seconds, took.Seconds())
	}
	total := sum(seconds)
	each := 1
	if q.work == "life-cycle" {
		each = statementsOfALife
	}
	metrics := map[string]any{
		"seconds": total, "ops_per_s": float64(q.workers*q.tasks*q.repeats*each) / total,
		"busy_errors": float64(q.busy.Load()),
	}
	if q.connections == "pool" {
		metrics["connections_opened"] = float64(q.connector.opened.Load() - opened)
		spent := float64(q.connector.openingNs.Load()-openingNs) / 1e9
		metrics["opening_percent"] = 100 * spent / (total * float64(q.workers))
	}
	if half := len(seconds) / 2; half > 0 {
		first := sum(seconds[:half]) / float64(half)
		second := sum(seconds[half:]) / float64(len(seconds)-half)
		metrics["settled_percent"] = 100 * second / first
	}
	every := []time.Duration{}
	for kind, found := range all {
		every = append(every, found...)
		note(metrics, "."+kind, found)
	}
	note(metrics, "", every)
	return metrics, nil
}

func sum(values []float64) float64 {
	total := 0.0
	for _, value := range values {
		total += value
	}
	return total
}

// verify compares the table with the tasks that must be left: all that were inserted, or none.
func (q *queue) verify() error {
	wanted := map[string]task{}
	for repetition := 0; q.work == "insert" && repetition < q.repeats; repetition++ {
		for worker := range q.workers {
			for _, t := range q.due(repetition, worker) {
				wanted[t.id] = t
			}
		}
	}
	found, err := q.first.column("SELECT id || '/' || status || '/' || cmd || '/' || args || '/' || scheduled_at || '/' || output FROM tasks")
	if err != nil {
		return err
	}
	if err := expect("the number of tasks left", len(found), len(wanted)); err != nil {
		return err
	}
	for _, row := range found {
		t, known := wanted[row[:min(32, len(row))]]
		whole := fmt.Sprintf("%s/pending/example/%s/%d/", t.id, t.args, t.due)
		if !known || row != whole {
			return fmt.Errorf("wrong result: the task %s is not as it was inserted", row[:min(32, len(row))])
		}
	}
	return nil
}

// finish reads back what is in force, closes the connections and notes the sizes of the files.
func (q *queue) finish(spec specification, metrics map[string]any) ([]object, string, error) {
	pragmas, err := q.first.readBack(spec.Binding.ReadBack)
	if err != nil {
		return nil, "", err
	}
	connections := []object{{"connection": "first", "pragmas": pragmas}}
	if idle := q.pool.Stats().Idle; idle > 0 {
		pooled, err := q.pooled(spec.Binding.ReadBack)
		if err != nil {
			return nil, "", err
		}
		connections = append(connections, object{"connection": "pool 1", "pragmas": pooled})
	}
	if err := q.pool.Close(); err != nil {
		return nil, "", err
	}
	if wal, err := os.Stat(q.connector.path + "-wal"); err == nil {
		metrics["wal_bytes"] = float64(wal.Size())
	} else {
		metrics["wal_bytes"] = 0.0
	}
	began := time.Now()
	if err := q.first.close(); err != nil {
		return nil, "", err
	}
	metrics["close_s"] = time.Since(began).Seconds()
	file, err := os.Stat(q.connector.path)
	if err != nil {
		return nil, "", err
	}
	metrics["db_bytes"] = float64(file.Size())
	metrics["left_over"] = 0.0
	return connections, durability(pragmas["journal_mode"], pragmas["synchronous"]), nil
}

// pooled reads back the settings of a connection that the pool has kept.
func (q *queue) pooled(names []string) (map[string]string, error) {
	one, err := q.pool.Conn(context.Background())
	if err != nil {
		return nil, err
	}
	defer one.Close()
	kept := &connection{q.pool, one}
	return kept.readBack(names)
}

// durability is what the settings undertake, as in crates/bench/src/target/queue/sqlite.
func durability(journalMode, synchronous string) string {
	switch {
	case journalMode == "off" || journalMode == "memory":
		return "torn"
	case synchronous == "0":
		return "process"
	case journalMode == "wal" && synchronous == "1":
		return "recent"
	case journalMode == "wal" || synchronous == "3":
		return "every"
	case synchronous == "2" && (journalMode == "truncate" || journalMode == "persist"):
		return "every"
	case synchronous == "2":
		return "recent"
	}
	return "process"
}

// seed is one from which children are derived.
type seed uint64

func (s seed) child(name string) seed {
	hash := uint64(0xcbf29ce484222325)
	for _, b := range []byte(name) {
		hash = (hash ^ uint64(b)) * 0x100000001b3
	}
	return seed(mix(uint64(s) ^ mix(hash)))
}

func (s seed) nth(number uint64) seed {
	return seed(mix(uint64(s) + mix(number+1)))
}

func (s seed) generator() *splitmix { return &splitmix{uint64(s)} }

// letters are random letters that JSON need not escape.
func (s seed) letters(count int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	choice := s.generator()
	text := make([]byte, count)
	for place := range text {
		text[place] = letters[choice.below(64)]
	}
	return string(text)
}

// splitmix is the generator splitmix64.
type splitmix struct{ state uint64 }

func (g *splitmix) next() uint64 {
	g.state += 0x9e3779b97f4a7c15
	return mix(g.state)
}

func (g *splitmix) below(bound uint64) uint64 {
	high, _ := bits.Mul64(g.next(), bound)
	return high
}

func mix(z uint64) uint64 {
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}
