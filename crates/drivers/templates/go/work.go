// Your own code, which pragmark measures. driver.go calls it and speaks with pragmark.
package main

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The parameters in driver.toml.
type settings struct{ Orders int }

// Returns the metrics in driver.toml, and the result, which must be the same in every variant.
func work(database *sql.DB, settings settings) (metrics object, result string) {
	column(database, "CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER)")
	var latencies []float64
	start := time.Now()
	for number := range settings.Orders {
		before := time.Now()
		_, err := database.Exec("INSERT INTO orders(customer, cents) VALUES (?, ?)", number%100, number)
		check(err)
		latencies = append(latencies, float64(time.Since(before).Nanoseconds())/1e3)
	}
	seconds := time.Since(start).Seconds()
	result = column(database, "SELECT count(*) || ' ' || sum(customer) || ' ' || sum(cents) FROM orders")[0]
	if !strings.HasPrefix(result, fmt.Sprint(settings.Orders, " ")) {
		check(fmt.Errorf("not all orders were stored: %s", result))
	}
	slices.Sort(latencies)
	return object{"orders_per_s": float64(settings.Orders) / seconds, "seconds": seconds,
		"p50_us": latencies[len(latencies)/2]}, result
}
