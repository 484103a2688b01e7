// Command mattn drives SQLite through github.com/mattn/go-sqlite3.
package main

import (
	_ "github.com/mattn/go-sqlite3"

	"pragmark/driver"
)

func main() {
	driver.Main(driver.Binding{Module: "github.com/mattn/go-sqlite3", Name: "sqlite3"})
}
