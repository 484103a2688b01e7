CREATE INDEX orders_customer ON orders(customer);
