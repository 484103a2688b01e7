// Command mattn runs one trial through github.com/mattn/go-sqlite3 with its own SQLite, or with a shared library if it
// is built with the tag libsqlite3.
package main

import (
	_ "github.com/mattn/go-sqlite3"

	"pragmark/driver"
)

func main() {
	driver.Main(driver.Binding{
		Module: "github.com/mattn/go-sqlite3",
		Name:   "sqlite3",
		// Said of a shared library without mutexes (THREADSAFE=0), with which it opens no database.
		Refusal: "not compiled for thread-safe operation",
	})
}
