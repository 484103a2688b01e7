"""Coroutines with aiosqlite, each with a connection of its own, in WAL mode."""
import asyncio

import aiosqlite


async def work(seed):
    async with aiosqlite.connect("app.db", timeout=60, isolation_level=None) as db:
        db.row_factory = aiosqlite.Row
        await db.execute("PRAGMA foreign_keys = ON")
        for number in range(50):
            await db.execute("BEGIN IMMEDIATE")
            async with db.execute("SELECT count(*) AS n FROM entry WHERE account = ?", (number % 7,)) as cursor:
                count = (await cursor.fetchone())["n"]
            await db.execute("INSERT INTO entry(account, amount) VALUES (?, ?)", (number % 7, seed * 100 + count))
            await (db.rollback() if number % 10 == 9 else db.commit())
        async with db.execute("SELECT * FROM entry ORDER BY id DESC LIMIT 5") as cursor:
            assert len([row async for row in cursor]) == 5


async def main():
    async with aiosqlite.connect("app.db") as db:
        await db.execute("PRAGMA journal_mode = WAL")
        await db.execute("CREATE TABLE account(id INTEGER PRIMARY KEY)")
        await db.execute("CREATE TABLE entry(id INTEGER PRIMARY KEY, account REFERENCES account, amount)")
        await db.executemany("INSERT INTO account VALUES (?)", [(number,) for number in range(7)])
        await db.commit()
    await asyncio.gather(*(work(seed) for seed in range(4)))


asyncio.run(main())
