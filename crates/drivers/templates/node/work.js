// Your own code, which pragmark measures. driver.js calls it and speaks with pragmark.

// Returns the metrics in driver.toml, and the result, which must be the same in every variant.
exports.work = function (database, settings) {
  database.exec("CREATE TABLE orders(id INTEGER PRIMARY KEY, customer INTEGER, cents INTEGER)");
  const insert = database.prepare("INSERT INTO orders(customer, cents) VALUES (?, ?)");
  const latencies = [];
  const start = performance.now();
  for (let number = 0; number < settings.orders; number++) {
    const before = performance.now();
    insert.run(number % 100, number);
    latencies.push(performance.now() - before);
  }
  const seconds = (performance.now() - start) / 1e3;
  const sums = database.prepare("SELECT count(*) AS count, sum(customer) AS customers, sum(cents) AS cents FROM orders");
  const result = sums.get();
  if (result.count !== settings.orders) throw new Error(`${result.count} orders were stored`);
  const p50_us = latencies.sort((a, b) => a - b)[latencies.length >> 1] * 1e3;
  return [{ orders_per_s: result.count / seconds, seconds, p50_us }, JSON.stringify(result)];
};
