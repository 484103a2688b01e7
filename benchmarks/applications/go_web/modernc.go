//go:build modernc

package main

import _ "modernc.org/sqlite"

const driver, source = "sqlite", "file:guests.db?_pragma=busy_timeout(5000)&_txlock=immediate"
