// Command modernc runs one trial through modernc.org/sqlite, SQLite translated to Go.
package main

import (
	_ "modernc.org/sqlite"

	"pragmark/driver"
)

func main() {
	driver.Main(driver.Binding{Module: "modernc.org/sqlite", Name: "sqlite"})
}
