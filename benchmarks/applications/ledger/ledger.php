<?php
// A ledger through PDO: transfers in transactions, some rolled back, look-ups, errors.
$db = new PDO('sqlite:ledger.db', null, null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
$db->exec('CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT UNIQUE, balance REAL)');
$db->exec('CREATE TABLE entry(id INTEGER PRIMARY KEY, account INTEGER REFERENCES account, note TEXT, amount REAL, seal BLOB)');
$open = $db->prepare('INSERT INTO account(name, balance) VALUES (?, ?)');
for ($i = 0; $i < 50; $i++) $open->execute(["Konto №$i", 100.1]);
$read = $db->prepare('SELECT balance FROM account WHERE id = ?');
$change = $db->prepare('UPDATE account SET balance = :balance WHERE id = :id');
$write = $db->prepare('INSERT INTO entry(account, note, amount, seal) VALUES (?, ?, ?, ?)');
for ($i = 0; $i < 300; $i++) {
    $id = $i * 7 % 50 + 1;
    $db->beginTransaction();
    $read->execute([$id]);
    $balance = $read->fetchColumn();
    $change->execute([':balance' => $balance - 0.1 * $i, ':id' => $id]);
    $write->bindValue(1, $id, PDO::PARAM_INT);
    $write->bindValue(2, "it's entry $i", PDO::PARAM_STR);
    $write->bindValue(3, 0.1 * $i);
    $write->bindValue(4, md5("$i", true), PDO::PARAM_LOB);
    $write->execute();
    $i % 10 == 0 ? $db->rollBack() : $db->commit();
    $db->query("SELECT note, amount FROM entry WHERE account = $id ORDER BY id DESC")->fetch();
    if ($i % 20 == 0) {
        try {
            $open->execute(["Konto №$i", 0]);
        } catch (PDOException $error) {
            // The name is taken.
        }
    }
}
