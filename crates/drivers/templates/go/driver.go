// Measures your own code. Replace work; the rest is the protocol between pragmark and a driver.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	_ "modernc.org/sqlite"
)

type object = map[string]any

func work(database *sql.DB, orders int) (latencies []float64) {
	for number := range orders {
		start := time.Now()
		_, err := database.Exec("INSERT INTO orders(customer, cents) VALUES (?, ?)", number%100, number)
		check(err)
		latencies = append(latencies, float64(time.Since(start).Nanoseconds())/1e3)
	}
	return latencies
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func open(path string) *sql.DB {
	database, err := sql.Open("sqlite", path)
	check(err)
	database.SetMaxOpenConns(1) // so that every statement uses the connection that has the settings
	return database
}

func column(database *sql.DB, query string) (values []string) {
	rows, err := database.Query(query)
	check(err)
	for rows.Next() {
		var value string
		check(rows.Scan(&value))
		values = append(values, value)
	}
	check(rows.Err())
	return values
}

func describe(database *sql.DB) object {
	return object{"name": runtime.Version() + ", modernc.org/sqlite", "defaults": object{},
		"version":         column(database, "SELECT sqlite_version()")[0],
		"source_id":       column(database, "SELECT sqlite_source_id()")[0],
		"compile_options": column(database, "PRAGMA compile_options")}
}

func trial() object {
	var spec struct {
		Directory string
		Settings  struct{ Orders int }
		Binding   struct {
			Pragmas  []string
			ReadBack []string `json:"read_back"`
		}
	}
	check(json.NewDecoder(os.Stdin).Decode(&spec))
	database := open(filepath.Join(spec.Directory, "app.db"))
	for _, pragma := range spec.Binding.Pragmas {
		column(database, pragma)
	}
	_, err := database.Exec("CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER)")
	check(err)
	start := time.Now()
	latencies := work(database, spec.Settings.Orders)
	seconds := time.Since(start).Seconds()
	result := column(database, "SELECT count(*) || ' ' || sum(customer) || ' ' || sum(cents) FROM orders")[0]
	if stored := column(database, "SELECT count(*) FROM orders")[0]; stored != fmt.Sprint(spec.Settings.Orders) {
		return object{"failed": object{"why": stored + " orders were stored"}}
	}
	pragmas := object{}
	for _, name := range spec.Binding.ReadBack {
		if values := column(database, "PRAGMA main."+name); len(values) > 0 {
			pragmas[name] = values[0]
		}
	}
	slices.Sort(latencies)
	metrics := object{"orders_per_s": float64(spec.Settings.Orders) / seconds, "seconds": seconds,
		"p50_us": latencies[len(latencies)/2]}
	return object{"measured": object{"metrics": metrics, "engine": describe(database), "binding": describe(database),
		"checksum": result, "connections": []object{{"connection": "main", "pragmas": pragmas}}}}
}

func main() {
	var message object
	if len(os.Args) > 1 && os.Args[1] == "describe" {
		message = describe(open(":memory:"))
	} else {
		message = object{"outcome": trial()}
	}
	check(json.NewEncoder(os.Stdout).Encode(message))
}
