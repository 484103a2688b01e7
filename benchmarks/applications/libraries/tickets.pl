#!/usr/bin/perl
# Tickets with Perl's DBI and DBD::SQLite: prepared statements, transactions.
use strict;
use warnings;
use DBI;

my $db = DBI->connect("dbi:SQLite:dbname=app.db", "", "", { RaiseError => 1, PrintError => 0, AutoCommit => 1, sqlite_unicode => 1 });
$db->do("CREATE TABLE ticket(id INTEGER PRIMARY KEY, title TEXT UNIQUE, state TEXT, opened INTEGER)");
$db->do("CREATE TABLE note(ticket INTEGER REFERENCES ticket, body TEXT)");
$db->do("CREATE INDEX note_ticket ON note(ticket)");
my $add = $db->prepare("INSERT INTO ticket(title, state, opened) VALUES (?, 'open', ?)");
my $note = $db->prepare("INSERT INTO note VALUES (?, ?)");
my $read = $db->prepare("SELECT t.title, count(n.rowid) FROM ticket t LEFT JOIN note n ON n.ticket = t.id WHERE t.id = ? GROUP BY t.id");
for my $number (1 .. 100) {
    $db->begin_work;
    $add->execute("ticket \x{e9} $number", 1700000000 + $number);
    my $id = $db->last_insert_id("", "", "", "");
    $note->execute($id, "note $_") for 1 .. $number % 4;
    $number % 10 ? $db->commit : $db->rollback;
    $read->execute($id);
    $read->fetchrow_array;
    eval { $add->execute("ticket \x{e9} 1", 0) } if $number % 20 == 0;
    my ($open) = $db->selectrow_array("SELECT count(*) FROM ticket WHERE state = ?", undef, "open");
    $db->do("UPDATE ticket SET state = 'closed' WHERE id = (SELECT min(id) FROM ticket WHERE state = 'open')") if $open > 50;
}
$db->disconnect;
