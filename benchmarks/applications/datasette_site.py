"""Datasette, which publishes a database: pages of rows, facets, full-text search, and queries of visitors."""
import os, random, sqlite3, subprocess
import load

TITLE = "datasette (reads only)"
DATABASE = "books.db"
TOPICS = ["river", "mountain", "city", "winter", "summer", "music", "bread", "ship", "garden", "clock"]


def install(folder):
    subprocess.run(["/usr/bin/python3", "-m", "venv", "venv"], cwd=folder, check=True)
    subprocess.run(["venv/bin/pip", "install", "-q", "datasette", "setuptools<81"], cwd=folder, check=True)


def prepare(folder, work):
    chance = random.Random(1)
    db = sqlite3.connect(os.path.join(work, DATABASE))
    db.execute("CREATE TABLE author(id INTEGER PRIMARY KEY, name TEXT, country TEXT)")
    db.execute("CREATE TABLE book(id INTEGER PRIMARY KEY, author INTEGER REFERENCES author(id), title TEXT, year INTEGER, price REAL)")
    countries = ["FR", "DE", "IN", "JP", "BR"]
    db.executemany("INSERT INTO author VALUES (?, ?, ?)", [(n, f"Author {n}", chance.choice(countries)) for n in range(1, 301)])
    title = lambda: " ".join(chance.choices(TOPICS, k=4))
    rows = [(n, chance.randrange(1, 301), title(), chance.randrange(1950, 2026), chance.randrange(500, 5000) / 100) for n in range(1, 5001)]
    db.executemany("INSERT INTO book VALUES (?, ?, ?, ?, ?)", rows)
    db.execute("CREATE VIRTUAL TABLE book_fts USING fts5(title, content=book, content_rowid=id)")
    db.execute("INSERT INTO book_fts(book_fts) VALUES ('rebuild')")
    db.commit()
    db.close()


def command(folder, work, port):
    return [os.path.join(folder, "venv/bin/datasette"), "serve", DATABASE, "-p", str(port)]


def visit(user):
    chance = user.random
    for _ in range(20):
        user.get("/books")
        user.get(f"/books/book?_next={chance.randrange(4900)}&_size=50")
        user.get(f"/books/book/{chance.randrange(1, 5001)}")
        user.get(f"/books/book.json?author={chance.randrange(1, 301)}")
        user.get(f"/books/book?_search={chance.choice(TOPICS)}&_sort_desc=year&_size=20")
        user.get(f"/books/author?_facet=country&_size=20")
        sql = "select+country,count(*)+from+book+join+author+on+author.id=book.author+where+year=:y+group+by+country"
        user.get(f"/books.json?sql={sql}&y={chance.randrange(1950, 2026)}")


def drive(port):
    return load.together(port, 4, visit)
