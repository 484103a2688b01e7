"""Tasks of celery with SQLite as the broker and for the results, through SQLAlchemy."""
import multiprocessing

from celery import Celery

app = Celery("tasks", broker="sqla+sqlite:///app.db", backend="db+sqlite:///app.db")
app.conf.update(worker_hijack_root_logger=False, broker_connection_retry_on_startup=True)


@app.task(name="add")
def add(number, other):
    return number + other


def work():
    worker = app.Worker(pool="solo", loglevel="WARNING", without_gossip=True, without_mingle=True, without_heartbeat=True)
    worker.start()


if __name__ == "__main__":
    results = [add.delay(number, number) for number in range(60)]
    worker = multiprocessing.Process(target=work)
    worker.start()
    assert [result.get(timeout=120, interval=0.05) for result in results] == [2 * number for number in range(60)]
    worker.terminate()
    worker.join()
