-- name: find_user
SELECT * FROM users WHERE email = :email;
-- name: count_users
SELECT count(*) FROM users;
