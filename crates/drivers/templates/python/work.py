"""Your own code, which pragmark measures. driver.py calls it and speaks with pragmark."""
import time

def work(connection, settings):
    """Returns the metrics in driver.toml, and the result, which must be the same in every variant."""
    connection.execute("CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER)")
    latencies, start = [], time.perf_counter()
    for number in range(settings["orders"]):
        before = time.perf_counter()
        with connection:
            connection.execute("INSERT INTO orders(customer, cents) VALUES (?, ?)", (number % 100, number))
        latencies.append(time.perf_counter() - before)
    seconds = time.perf_counter() - start
    result = connection.execute("SELECT count(*), sum(customer), sum(cents) FROM orders").fetchone()
    if result[0] != settings["orders"]:
        raise RuntimeError(f"{result[0]} orders were stored")
    metrics = {"orders_per_s": result[0] / seconds, "seconds": seconds,
               "p50_us": sorted(latencies)[len(latencies) // 2] * 1e6}
    return metrics, str(result)
