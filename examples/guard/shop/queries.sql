-- name: customer
SELECT name, city FROM customers WHERE id = :id;
-- name: orders_of_customer
SELECT id, day, total FROM orders WHERE customer = :customer ORDER BY day;
-- name: customers_of_city
SELECT id, name FROM customers WHERE city = :city;
-- name: place_order
INSERT INTO orders(customer, day, total) VALUES (:customer, 1, 10);
