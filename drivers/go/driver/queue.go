package driver

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The workload queue, as far as it is article 004's: workers insert tasks, or take them through a life of 13
// statements, each committed. The tasks, statements and checks are those of crates/bench/src/workload/queue.

const (
	statementsOfALife = 13
	outputs           = 10
	outputText        = "Some kind of output and whatever"
	// A statement that finds the database busy is tried again so often.
	mostTries = 10_000
)

const (
	createTasks = "CREATE TABLE tasks(id varchar(32) NOT NULL PRIMARY KEY, status varchar(16) NOT NULL, cmd varchar(16) NOT NULL, args text NOT NULL, scheduled_at integer NOT NULL, output text NOT NULL)"
	createIndex = "CREATE INDEX tasks_schedule ON tasks(status, scheduled_at)"
)

// The statements of a task, by the phase that they are measured as.
var taskStatements = map[string]string{
	"insert": "INSERT INTO tasks VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
	"status": "UPDATE tasks SET status = ?2 WHERE id = ?1",
	"output": "UPDATE tasks SET output = ?2 WHERE id = ?1",
	"append": "UPDATE tasks SET output = output || ?2 WHERE id = ?1",
	"delete": "DELETE FROM tasks WHERE id = ?1",
}

// queue is a trial of the workload.
type queue struct {
	work, connections, statements, output string
	workers, tasks, repeats, payload      int
	indexed                               bool
	seed                                  seed
	busy                                  atomic.Int64
	connector                             *connector
	pool                                  *sql.DB
	first                                 *connection
}

// connector opens connections that have the settings of the variant, and counts them.
type connector struct {
	driver    sqldriver.Driver
	path      string
	pragmas   []string
	opened    atomic.Int64
	openingNs atomic.Int64
}

func (c *connector) Driver() sqldriver.Driver { return c.driver }

func (c *connector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	began := time.Now()
	conn, err := c.driver.Open(c.path)
	if err != nil {
		return nil, err
	}
	executor, ok := conn.(sqldriver.ExecerContext)
	if !ok {
		conn.Close()
		return nil, fmt.Errorf("the binding executes no statement without preparing it")
	}
	for _, pragma := range c.pragmas {
		if _, err := executor.ExecContext(ctx, pragma, nil); err != nil {
			conn.Close()
			return nil, fmt.Errorf("%s: %w", pragma, err)
		}
	}
	c.opened.Add(1)
	c.openingNs.Add(int64(time.Since(began)))
	return conn, nil
}

// unsupported says why this driver does not do what the settings ask for; empty where it does.
func unsupported(settings map[string]any) string {
	only := func(name string, values ...any) string {
		for _, value := range values {
			if settings[name] == value || settings[name] == nil {
				return ""
			}
		}
		return fmt.Sprintf("this driver does not support %s = %v", name, settings[name])
	}
	reasons := []string{
		only("target", "sqlite"), only("work", "insert", "life-cycle"),
		only("stored", 0.0), only("statements_per_txn", 1.0),
	}
	return strings.Join(reasons, "")
}

func newQueue(binding Binding, spec specification) (*queue, error) {
	settings := spec.Settings
	text := func(name string) string { value, _ := settings[name].(string); return value }
	number := func(name string) int { value, _ := settings[name].(float64); return int(value) }
	q := &queue{
		work: text("work"), connections: text("connections"), statements: text("statements"), output: text("output"),
		workers: number("workers"), tasks: number("tasks"), repeats: number("repeats"), payload: number("payload_bytes"),
		indexed: settings["indexed"] != false, seed: seed(spec.Seed),
	}
	path := filepath.Join(spec.Directory, "test.db")
	first, err := binding.open(path)
	if err != nil {
		return nil, err
	}
	q.first = first
	schema := append([]string{}, spec.Binding.Pragmas...)
	schema = append(schema, createTasks)
	if q.indexed {
		schema = append(schema, createIndex)
	}
	for _, statement := range schema {
		if _, err := first.column(statement); err != nil {
			return nil, fmt.Errorf("%s: %w", statement, err)
		}
	}
	q.connector = &connector{driver: first.pool.Driver(), path: path, pragmas: spec.Binding.Pragmas}
	q.pool = sql.OpenDB(q.connector)
	switch q.connections {
	case "shared":
		q.pool.SetMaxOpenConns(1)
	case "per-thread":
		q.pool.SetMaxIdleConns(q.workers)
	}
	// A pool keeps two idle connections, database/sql's default, and opens as many as are wanted.
	return q, nil
}

// task is a task as the application holds it.
type task struct {
	id, args string
	due      int64
}

// due makes the tasks of a worker in a repetition.
func (q *queue) due(repetition, worker int) []task {
	own := q.seed.child("work").nth(uint64(repetition)).nth(uint64(worker))
	args := `["a","b","c"]`
	if q.payload > 0 {
		args = fmt.Sprintf(`["a","b","c","%s"]`, own.child("payload").letters(q.payload))
	}
	made := make([]task, q.tasks)
	ids := own.generator()
	for number := range made {
		due := int64(ids.below(1_000_000))
		id := fmt.Sprintf("%016x%016x", ids.next(), ids.next())
		made[number] = task{id, args, due}
	}
	return made
}

// session executes statements of one worker.
type session interface {
	run(kind string, values ...any) error
}

// eachTime has database/sql prepare every statement, on a connection of its choice or on one connection.
type eachTime struct {
	execute func(ctx context.Context, query string, values ...any) (sql.Result, error)
}

func (s eachTime) run(kind string, values ...any) error {
	return changedOne(s.execute(context.Background(), taskStatements[kind], values...))
}

// reused has statements that are prepared once.
type reused map[string]*sql.Stmt

func (s reused) run(kind string, values ...any) error {
	return changedOne(s[kind].ExecContext(context.Background(), values...))
}

func changedOne(result sql.Result, err error) error {
	if err != nil {
		return err
	}
	if changed, err := result.RowsAffected(); err != nil || changed != 1 {
		return fmt.Errorf("wrong result: a statement changed %d rows instead of 1 (%v)", changed, err)
	}
	return nil
}

// attend gives a session to a worker, and what ends it.
func (q *queue) attend() (session, func() error, error) {
	if q.connections != "per-thread" {
		return eachTime{q.pool.ExecContext}, func() error { return nil }, nil
	}
	own, err := q.pool.Conn(context.Background())
	if err != nil {
		return nil, nil, err
	}
	if q.statements != "reused" {
		return eachTime{own.ExecContext}, own.Close, nil
	}
	prepared := reused{}
	for kind, text := range taskStatements {
		if prepared[kind], err = own.PrepareContext(context.Background(), text); err != nil {
			own.Close()
			return nil, nil, err
		}
	}
	end := func() error {
		for _, statement := range prepared {
			if err := statement.Close(); err != nil {
				return err
			}
		}
		return own.Close()
	}
	return prepared, end, nil
}

// patiently runs a statement until the database is not busy.
func (q *queue) patiently(s session, kind string, values ...any) error {
	for tries := 1; ; tries++ {
		err := s.run(kind, values...)
		if err == nil || !strings.Contains(err.Error(), "database is locked") || tries == mostTries {
			return err
		}
		q.busy.Add(1)
	}
}

// live takes a task through its life, or inserts it, and notes the latency of each statement.
func (q *queue) live(s session, t task, note func(kind string)) error {
	step := func(kind, phase string, values ...any) error {
		if err := q.patiently(s, kind, values...); err != nil {
			return err
		}
		note(phase)
		return nil
	}
	if err := step("insert", "insert", t.id, "pending", "example", t.args, t.due, ""); err != nil || q.work == "insert" {
		return err
	}
	if err := step("status", "status", t.id, "processing"); err != nil {
		return err
	}
	kind := "output"
	if q.output == "append" {
		kind = "append"
	}
	for number := range outputs {
		if err := step(kind, "output", t.id, fmt.Sprintf("%d%s", number, outputText)); err != nil {
			return err
		}
	}
	return step("delete", "delete", t.id)
}

// worker does the part of one worker: it waits for the others, then takes its tasks one after another.
func (q *queue) worker(tasks []task, ready *sync.WaitGroup, start <-chan struct{}) (latencies, error) {
	s, end, err := q.attend()
	ready.Done()
	<-start
	if err != nil {
		return nil, err
	}
	found := latencies{}
	last := time.Now()
	for _, t := range tasks {
		err := q.live(s, t, func(kind string) {
			now := time.Now()
			found[kind] = append(found[kind], now.Sub(last))
			last = now
		})
		if err != nil {
			end()
			return nil, err
		}
	}
	return found, end()
}

// repetition has all workers do their parts at the same time.
func (q *queue) repetition(number int) (latencies, time.Duration, error) {
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	found := make([]latencies, q.workers)
	problems := make([]error, q.workers)
	ready.Add(q.workers)
	for worker := range q.workers {
		tasks := q.due(number, worker)
		done.Go(func() { found[worker], problems[worker] = q.worker(tasks, &ready, start) })
	}
	ready.Wait()
	began := time.Now()
	close(start)
	done.Wait()
	took := time.Since(began)
	all := latencies{}
	for worker, problem := range problems {
		if problem != nil {
			return nil, 0, problem
		}
		all.add(found[worker])
	}
	return all, took, nil
}
