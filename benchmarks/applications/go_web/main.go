// A guest book: net/http and database/sql. It has two drivers; the build tag modernc chooses the other one.
package main

import (
	"database/sql"
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"strconv"
)

type entry struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	Text string `json:"text"`
}

func fail(w http.ResponseWriter, err error) bool {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
	return err != nil
}

// list answers with the latest entries, and says of each how many answers it has.
func list(db *sql.DB, w http.ResponseWriter, r *http.Request) {
	rows, err := db.Query("SELECT id, name, text FROM entry ORDER BY id DESC LIMIT 20")
	if fail(w, err) {
		return
	}
	defer rows.Close()
	entries := []entry{}
	for rows.Next() {
		var it entry
		if fail(w, rows.Scan(&it.ID, &it.Name, &it.Text)) {
			return
		}
		entries = append(entries, it)
	}
	for _, it := range entries {
		var answers int
		if fail(w, db.QueryRow("SELECT count(*) FROM answer WHERE entry = ?", it.ID).Scan(&answers)) {
			return
		}
	}
	json.NewEncoder(w).Encode(entries)
}

// add writes an entry and the visitor's counter in one transaction.
func add(db *sql.DB, w http.ResponseWriter, r *http.Request) {
	tx, err := db.BeginTx(r.Context(), nil)
	if fail(w, err) {
		return
	}
	defer tx.Rollback()
	name, text := r.FormValue("name"), r.FormValue("text")
	if _, err := tx.Exec("INSERT INTO visitor(name, entries) VALUES (?, 1) ON CONFLICT(name) DO UPDATE SET entries = entries + 1", name); fail(w, err) {
		return
	}
	result, err := tx.Exec("INSERT INTO entry(name, text) VALUES (?, ?)", name, text)
	if fail(w, err) {
		return
	}
	if fail(w, tx.Commit()) {
		return
	}
	id, _ := result.LastInsertId()
	w.Write([]byte(strconv.FormatInt(id, 10)))
}

func answer(db *sql.DB, w http.ResponseWriter, r *http.Request) {
	_, err := db.Exec("INSERT INTO answer(entry, text) VALUES (?, ?)", r.FormValue("entry"), r.FormValue("text"))
	fail(w, err)
}

func main() {
	port := flag.String("port", "8080", "the port")
	flag.Parse()
	db, err := sql.Open(driver, source)
	if err != nil {
		log.Fatal(err)
	}
	schema := `CREATE TABLE IF NOT EXISTS entry(id INTEGER PRIMARY KEY, name TEXT, text TEXT);
CREATE TABLE IF NOT EXISTS answer(id INTEGER PRIMARY KEY, entry INTEGER, text TEXT);
CREATE TABLE IF NOT EXISTS visitor(name TEXT PRIMARY KEY, entries INTEGER)`
	if _, err := db.Exec(schema); err != nil {
		log.Fatal(err)
	}
	page := func(path string, work func(*sql.DB, http.ResponseWriter, *http.Request)) {
		http.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { work(db, w, r) })
	}
	page("/list", list)
	page("/add", add)
	page("/answer", answer)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+*port, nil))
}
