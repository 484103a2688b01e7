"""Tasks through a queue in SQLite: a producer, a consumer in another process, results, retries and a schedule."""
import multiprocessing, time

from huey import SqliteHuey

huey = SqliteHuey("app", filename="app.db")


@huey.task(retries=2)
def add(number, other):
    if number % 20 == 19:
        raise ValueError("not that one")
    return number + other


def work(tasks):
    done, deadline = 0, time.time() + 60
    while done < tasks and time.time() < deadline:
        task = huey.dequeue()
        if task is None:
            time.sleep(0.005)
            continue
        huey.execute(task)
        done += 1


if __name__ == "__main__":
    consumer = multiprocessing.Process(target=work, args=(200,))
    consumer.start()
    results = [add(number, 2 * number) for number in range(200)]
    for number in range(20):
        add.schedule((number, 1), delay=3600)
    consumer.join()
    got = [result.get(blocking=False) for number, result in enumerate(results) if number % 20 != 19]
    assert got.count(None) == 0, got
    huey.flush_locks()
