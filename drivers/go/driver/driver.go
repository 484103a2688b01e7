// Package driver runs one trial through a binding of Go's database/sql, as docs/protocol.md describes.
// The work is in basics.go and queue.go.
//
// database/sql has a pool of connections. The trial takes one of them and keeps it, because it begins and
// ends transactions itself and PRAGMAs belong to a connection. The queue uses the pool as it is.
package driver

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

const protocol = 1

// Binding is one of the bindings behind database/sql.
type Binding struct {
	// Module is its path, under which the program knows its version.
	Module string
	// Name is that under which it registers itself.
	Name string
	// Refusal is in what it says when it does not work with a SQLite; empty where it takes every one.
	Refusal string
}

type specification struct {
	Protocol  int
	Workload  string
	Settings  map[string]any
	Directory string
	Seed      uint64
	Binding   struct {
		Pragmas  []string
		ReadBack []string `json:"read_back"`
	}
}

type object = map[string]any

// Main runs the trial that standard input specifies, or describes the binding.
func Main(binding Binding) {
	if len(os.Args) == 2 && os.Args[1] == "describe" {
		description, err := binding.describe()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		say(description)
		return
	}
	var spec specification
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		fail("cannot read the specification: %v", err)
		return
	}
	if spec.Protocol != protocol {
		skip("this driver supports version %d of the protocol", protocol)
		return
	}
	trial := map[string]func(specification) (object, error){
		"binding-basics": binding.basics, "queue": binding.queue,
	}[spec.Workload]
	if trial == nil {
		skip("this driver does not support the workload %s", spec.Workload)
		return
	}
	if why := unsupported(spec.Settings); spec.Workload == "queue" && why != "" {
		skip("%s", why)
		return
	}
	measured, err := trial(spec)
	if err != nil && binding.refuses(err) {
		skip("%s does not work with this SQLite: %v", binding.Module, err)
		return
	}
	if err != nil {
		fail("%v", err)
		return
	}
	say(object{"outcome": object{"measured": measured}})
}

func say(message any) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", line)
}

func skip(format string, values ...any) {
	say(object{"outcome": object{"skipped": object{"why": fmt.Sprintf(format, values...)}}})
}

func fail(format string, values ...any) {
	say(object{"outcome": object{"failed": object{"why": fmt.Sprintf(format, values...)}}})
}

// refuses detects a SQLite that the binding does not support, which is not a failure of the trial.
func (binding Binding) refuses(err error) bool {
	return binding.Refusal != "" && strings.Contains(err.Error(), binding.Refusal)
}

// connection is a connection with its pool.
type connection struct {
	pool *sql.DB
	*sql.Conn
}

func (binding Binding) open(path string) (*connection, error) {
	pool, err := sql.Open(binding.Name, path)
	if err != nil {
		return nil, err
	}
	one, err := pool.Conn(context.Background())
	if err != nil {
		pool.Close()
		return nil, err
	}
	return &connection{pool, one}, nil
}

func (c *connection) close() error {
	if err := c.Conn.Close(); err != nil {
		return err
	}
	return c.pool.Close()
}

// column reads the first column of every row of a query as text.
func (c *connection) column(query string) ([]string, error) {
	rows, err := c.QueryContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := []string{}
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			return nil, err
		}
		found = append(found, value)
	}
	return found, rows.Err()
}

// readBack reads SQLite's answers to PRAGMAs, omitting those without an answer.
func (c *connection) readBack(names []string) (map[string]string, error) {
	// Before a connection reads its file, it answers with requested values, not actual ones.
	if _, err := c.column("PRAGMA schema_version"); err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for _, name := range names {
		found, err := c.column("PRAGMA main." + name)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			answers[name] = found[0]
		}
	}
	return answers, nil
}

func (c *connection) identity() (version, sourceID string, err error) {
	row := c.QueryRowContext(context.Background(), "SELECT sqlite_version(), sqlite_source_id()")
	err = row.Scan(&version, &sourceID)
	return
}

// words returns language and binding with their versions, and the build tags of the binding.
func (binding Binding) words() string {
	version, tags := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == binding.Module {
				version = module.Version
			}
		}
		for _, setting := range info.Settings {
			if setting.Key == "-tags" {
				tags = " with the tag " + setting.Value
			}
		}
	}
	return fmt.Sprintf("Go %s, %s %s%s", runtime.Version()[len("go"):], binding.Module, version, tags)
}

func (binding Binding) describe() (object, error) {
	memory, err := binding.open(":memory:")
	if err != nil {
		return nil, err
	}
	defer memory.close()
	version, sourceID, err := memory.identity()
	if err != nil {
		return nil, err
	}
	options, err := memory.column("PRAGMA compile_options")
	if err != nil {
		return nil, err
	}
	defaults, err := memory.readBack([]string{"busy_timeout", "foreign_keys", "journal_mode", "synchronous"})
	if err != nil {
		return nil, err
	}
	return object{
		"name": binding.words(), "version": version, "source_id": sourceID,
		"compile_options": options, "defaults": defaults,
	}, nil
}

func (binding Binding) defaults(spec specification) (map[string]string, error) {
	fresh, err := binding.open(filepath.Join(spec.Directory, "defaults.db"))
	if err != nil {
		return nil, err
	}
	defer fresh.close()
	return fresh.readBack(spec.Binding.ReadBack)
}

// queue is a trial of the workload queue.
func (binding Binding) queue(spec specification) (object, error) {
	defaults, err := binding.defaults(spec)
	if err != nil {
		return nil, err
	}
	phase := func(name string) { say(object{"phase": name}) }
	phase("load")
	q, err := newQueue(binding, spec)
	if err != nil {
		return nil, err
	}
	metrics, err := q.run(phase)
	if err != nil {
		return nil, err
	}
	phase("verify")
	if err := q.verify(); err != nil {
		return nil, err
	}
	measured, err := binding.marks(q.first, defaults)
	if err != nil {
		return nil, err
	}
	connections, durability, err := q.finish(spec, metrics)
	if err != nil {
		return nil, err
	}
	measured["metrics"], measured["connections"] = metrics, connections
	measured["durability"] = durability
	return measured, nil
}

// marks are the engine and the binding that did the work.
func (binding Binding) marks(c *connection, defaults map[string]string) (object, error) {
	version, sourceID, err := c.identity()
	if err != nil {
		return nil, err
	}
	options, err := c.column("PRAGMA compile_options")
	if err != nil {
		return nil, err
	}
	return object{
		"engine":  object{"version": version, "source_id": sourceID},
		"binding": object{"name": binding.words(), "compile_options": options, "defaults": defaults},
	}, nil
}

// basics is a trial of the workload binding-basics.
func (binding Binding) basics(spec specification) (object, error) {
	defaults, err := binding.defaults(spec)
	if err != nil {
		return nil, err
	}
	c, err := binding.open(filepath.Join(spec.Directory, "test.db"))
	if err != nil {
		return nil, err
	}
	defer c.close()
	for _, pragma := range spec.Binding.Pragmas {
		if _, err := c.column(pragma); err != nil {
			return nil, fmt.Errorf("%s: %w", pragma, err)
		}
	}
	work, err := newBasics(c, spec.Settings, spec.Seed)
	if err != nil {
		return nil, err
	}
	metrics, err := work.run(func(phase string) { say(object{"phase": phase}) })
	if err != nil {
		return nil, err
	}
	measured, err := binding.marks(c, defaults)
	if err != nil {
		return nil, err
	}
	pragmas, err := c.readBack(spec.Binding.ReadBack)
	if err != nil {
		return nil, err
	}
	measured["metrics"], measured["checksum"] = metrics, work.checksum()
	measured["connections"] = []object{{"connection": "main", "pragmas": pragmas}}
	return measured, nil
}
