// The protocol between pragmark and a driver. Your own code is in work.go.
package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	_ "modernc.org/sqlite"
)

type object = map[string]any

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
		Settings  settings
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
	metrics, result := work(database, spec.Settings)
	pragmas := object{}
	for _, name := range spec.Binding.ReadBack {
		if values := column(database, "PRAGMA main."+name); len(values) > 0 {
			pragmas[name] = values[0]
		}
	}
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
