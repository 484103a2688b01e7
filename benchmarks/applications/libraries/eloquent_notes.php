<?php
// Notes with Eloquent, Laravel's models (Debian's package `php-illuminate-database`).
error_reporting(E_ALL & ~E_DEPRECATED);
require_once "Illuminate/Database/autoload.php";
require_once "Illuminate/Events/autoload.php";

use Illuminate\Database\Capsule\Manager;
use Illuminate\Database\Eloquent\Model;

class Note extends Model
{
    protected $guarded = [];

    public function tags()
    {
        return $this->hasMany(Tag::class);
    }
}

class Tag extends Model
{
    protected $guarded = [];
}

touch("app.db");
$manager = new Manager();
$manager->addConnection(["driver" => "sqlite", "database" => getcwd() . "/app.db", "foreign_key_constraints" => true]);
$manager->setAsGlobal();
$manager->bootEloquent();
Manager::schema()->create("notes", function ($table) {
    $table->id();
    $table->string("title");
    $table->boolean("pinned")->default(false);
    $table->timestamps();
});
Manager::schema()->create("tags", function ($table) {
    $table->id();
    $table->foreignId("note_id")->constrained();
    $table->string("name")->index();
    $table->timestamps();
});
for ($number = 0; $number < 60; $number++) {
    try {
        Manager::transaction(function () use ($number) {
            $note = Note::create(["title" => "note $number", "pinned" => $number % 7 == 0]);
            foreach (["a", "b", "c"] as $name) {
                $note->tags()->create(["name" => "$name " . $number % 5]);
            }
            if ($number % 10 == 9) {
                throw new RuntimeException("changed my mind");
            }
        });
    } catch (RuntimeException) {
        // Rolled back.
    }
    foreach (Note::where("pinned", true)->orderByDesc("id")->limit(8)->get() as $note) {
        $note->tags->count();
    }
    Note::with("tags")->latest()->forPage($number % 4, 5)->get();
    Note::whereHas("tags", fn ($query) => $query->where("name", "a 1"))->update(["pinned" => true]);
}
