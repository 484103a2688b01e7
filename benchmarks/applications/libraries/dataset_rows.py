"""Rows through dataset, which makes tables and columns as they are needed."""
import dataset

with dataset.connect("sqlite:///app.db") as db:
    people = db["people"]
    for number in range(60):
        people.insert({"name": f"name {number}", "age": number % 9, **({"city": "Bern"} if number > 20 else {})})
    people.create_index(["name"])
    for number in range(30):
        people.upsert({"name": f"name {2 * number}", "age": number}, ["name"])
        people.find_one(name=f"name {number}")
    with db as transaction:
        transaction["people"].delete(age=3)
    list(people.distinct("age"))
    list(db.query("SELECT city, count(*) AS n FROM people GROUP BY city"))
