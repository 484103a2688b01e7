//go:build !modernc

package main

import _ "github.com/mattn/go-sqlite3"

const driver, source = "sqlite3", "file:guests.db?_busy_timeout=5000&_txlock=immediate"
