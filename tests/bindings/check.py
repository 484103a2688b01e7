#!/usr/bin/env python3
"""Applies printed settings through the bindings that they are printed for.

    cargo run -p pragmark-report --example settings_forms -- forms
    python3 tests/bindings/check.py forms [--work DIR] [--only BINDING ...]

For each binding the printed text becomes a program that opens a new database and reads every PRAGMA
back through the binding itself. Bindings come from their own registries (pip, npm, Go modules, Maven,
crates.io), into the working folder; one whose language is not installed is skipped and said to be.
This is no part of `cargo test`, which needs no network beyond crates and no other language.

The exit code is 0 when every binding that could be tried took every setting, 1 otherwise.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import textwrap

WORDS = {
    "synchronous": ["off", "normal", "full", "extra"],
    "temp_store": ["default", "file", "memory"],
    "auto_vacuum": ["none", "full", "incremental"],
    "secure_delete": ["off", "on", "fast"],
}


class Skip(Exception):
    """The binding cannot be tried here."""


def run(command, cwd, **options):
    """Runs a command and answers what it printed."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, **options
    )
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def need(program):
    """The path of a program, or a reason to skip."""
    found = shutil.which(program)
    if not found:
        raise Skip(f"{program} is not installed")
    return found


def last_json(text):
    """The last line, which every program prints as JSON."""
    return json.loads(text.strip().splitlines()[-1])


def plain(name, value):
    """A value as the experiment files write it."""
    text = str(value).lower()
    if name in WORDS and text.isdigit():
        return WORDS[name][int(text)]
    return {"true": "1", "false": "0", "on": "1", "off": "0"}.get(text, text) if name not in WORDS else text


class Bench:
    """The folder in which bindings are installed once."""

    def __init__(self, work):
        self.work = work

    def python(self):
        folder = self.work / "python"
        program = folder / "bin" / "python"
        if not program.exists():
            run([sys.executable, "-m", "venv", folder], self.work)
            run([program, "-m", "pip", "install", "-q", "django", "sqlalchemy"], self.work)
        return program

    def node(self):
        need("npm")
        folder = self.work / "node"
        if not (folder / "node_modules" / "better-sqlite3").exists():
            folder.mkdir(exist_ok=True)
            (folder / "package.json").write_text('{"name": "bindings", "private": true}')
            run(["npm", "install", "--silent", *NPM], folder)
            # Where npm does not run scripts of packages by itself, the libraries are not there yet.
            run(["npm", "rebuild", "--silent", "better-sqlite3", "sqlite3"], folder)
        return folder

    def go(self, *modules):
        need("go")
        folder = self.work / ("go-" + modules[-1].replace("/", "-"))
        folder.mkdir(exist_ok=True)
        if not (folder / "go.mod").exists():
            run(["go", "mod", "init", "bindings"], folder)
            run(["go", "get", *(module + "@latest" for module in modules)], folder)
        return folder

    def java(self):
        need("mvn")
        folder = self.work / "java"
        if not folder.exists():
            folder.mkdir()
            (folder / "pom.xml").write_text(POM)
            run(["mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=lib"], folder)
        return folder

    def rust(self, name, dependencies):
        need("cargo")
        folder = self.work / ("rust-" + name)
        (folder / "src").mkdir(parents=True, exist_ok=True)
        (folder / "Cargo.toml").write_text(
            f'[package]\nname = "{name}-check"\nversion = "0.0.0"\nedition = "2024"\n'
            f"[dependencies]\n{dependencies}\n[workspace]\n"
        )
        return folder


# Node itself is among them, because node:sqlite needs a newer one than distributions have.
NPM = ["better-sqlite3", "bun", "drizzle-orm", "knex", "node@24", "sequelize@6", "sqlite3", "typeorm"]

POM = """<project><modelVersion>4.0.0</modelVersion><groupId>b</groupId><artifactId>b</artifactId>
<version>1</version><dependencies><dependency><groupId>org.xerial</groupId>
<artifactId>sqlite-jdbc</artifactId><version>[3.50,)</version></dependency></dependencies></project>"""


def shell(bench, text, names, cwd):
    script = text + ".print ---\n" + "".join(f"PRAGMA {name};\n" for name in names)
    values = run([need("sqlite3"), "-batch", "app.db"], cwd, input=script).split("---\n")[1]
    return dict(zip(names, values.split()))


def c(bench, text, names, cwd):
    need("cc")
    reads = "".join(f'  sqlite3_exec(db, "PRAGMA {name}", show, "{name}", NULL);\n' for name in names)
    program = (
        "#include <sqlite3.h>\n#include <stdio.h>\n"
        "static int show(void *n, int k, char **v, char **c) {\n"
        '  printf("%s %s\\n", (char *)n, v[0]); return 0; }\n'
        f"int main(void) {{\n{text}\n  if (rc != SQLITE_OK) {{ puts(sqlite3_errmsg(db)); return 1; }}\n"
        f"{reads}  return sqlite3_close(db);\n}}\n"
    )
    (cwd / "main.c").write_text(program)
    try:
        run(["cc", "-w", "main.c", "-o", "main", "-lsqlite3"], cwd)
    except RuntimeError as error:
        if "sqlite3.h" in str(error):
            raise Skip("sqlite3.h is not installed") from None
        raise
    return dict(line.split() for line in run(["./main"], cwd).splitlines())


def python(bench, text, names, cwd):
    ask = f"print(json.dumps({{n: connection.execute('PRAGMA ' + n).fetchone()[0] for n in {names}}}))"
    return last_json(run([bench.python(), "-c", f"import json\n{text}\n{ask}"], cwd))


def django(bench, text, names, cwd):
    if (cwd / "app.db").exists():
        (cwd / "app.db").rename(cwd / "db.sqlite3")
    program = f"""
import django, json, pathlib
from django.conf import settings
BASE_DIR = pathlib.Path(".")
{text}
settings.configure(DATABASES=DATABASES)
django.setup()
from django.db import connection, transaction
with transaction.atomic(), connection.cursor() as cursor:
    print(json.dumps({{n: cursor.execute("PRAGMA " + n).fetchone()[0] for n in {names}}}))
"""
    return last_json(run([bench.python(), "-c", program], cwd))


def sqlalchemy(bench, text, names, cwd):
    program = f"""
import json
{text}
with engine.begin() as connection:
    print(json.dumps({{n: connection.exec_driver_sql("PRAGMA " + n).scalar() for n in {names}}}))
"""
    return last_json(run([bench.python(), "-c", program], cwd))


def rails(bench, text, names, cwd):
    need("ruby")
    (cwd / "database.yml").write_text(text)
    # Before 7.2 ActiveRecord has no key `pragmas`: there the statements themselves are applied through it.
    # The initializer stands in comments of the same file: without them it is Ruby.
    comments = text.split("in config/initializers/sqlite.rb:\n")
    hook = "".join(line.lstrip("#") for line in comments[1].splitlines(True)) if len(comments) > 1 else ""
    program = f"""
require "json"; require "yaml"; require "active_record"
has_key = ActiveRecord.version >= Gem::Version.new("7.2")
if has_key
{hook}
end
config = YAML.load_file("database.yml")["production"].merge("database" => "app.db")
pragmas = has_key ? {{}} : config.delete("pragmas").to_h
ActiveRecord::Base.establish_connection(config)
connection = ActiveRecord::Base.connection
pragmas.each {{ |name, value| connection.execute("PRAGMA #{{name}} = #{{value}}") }}
{json.dumps(hook)}.scan(/execute\("(.*?)"\)/).each {{ |sql| connection.execute(sql[0]) }} unless has_key
puts JSON.generate({names}.to_h {{ |n| [n, connection.select_value("PRAGMA " + n)] }})
"""
    try:
        return last_json(run(["ruby", "-e", program], cwd))
    except RuntimeError as error:
        if "cannot load such file" in str(error):
            raise Skip("the gems activerecord and sqlite3 are not installed") from None
        raise


def go(driver, alias, *others, pool="db, error(nil)"):
    """A check by a program in Go: `pool` is an expression for the pool of connections behind `db`, and an error."""

    def check(bench, text, names, cwd):
        folder = bench.go(driver, *others)
        imports = [f'{alias if f"{alias}." in text else "_"} "{driver}"', *(f'"{other}"' for other in others)]
        program = (
            'package main\nimport (\n\t"database/sql"\n\t"encoding/json"\n\t"fmt"\n'
            + "".join(f"\t{imported}\n" for imported in imports)
            + ")\nvar _ = sql.Drivers\n"
            f"func main() {{\n{text}\n\tif err != nil {{ panic(err) }}\n"
            f"\tpool, failed := {pool}\n\tif failed != nil {{ panic(failed) }}\n\tpool.SetMaxOpenConns(1)\n"
            "\tout := map[string]any{}\n"
            f"\tfor _, n := range []string{{{', '.join(json.dumps(n) for n in names)}}} {{\n"
            "\t\tvar v string\n"
            '\t\tif err := pool.QueryRow("PRAGMA " + n).Scan(&v); err != nil { panic(err) }\n'
            "\t\tout[n] = v\n\t}\n"
            '\tb, _ := json.Marshal(out)\n\tfmt.Println(string(b))\n}\n'
        )
        (folder / "main.go").write_text(program)
        run(["go", "mod", "tidy"], folder)
        run(["go", "build", "-o", cwd / "check", "."], folder)
        return last_json(run([cwd / "check"], cwd))

    return check


def better_sqlite3(bench, text, names, cwd):
    folder = bench.node()
    ask = f"console.log(JSON.stringify(Object.fromEntries({json.dumps(names)}.map(n => [n, db.pragma(n, {{simple: true}})]))));"
    return last_json(
        run(["node", "-e", text + ask], cwd, env={**os.environ, "NODE_PATH": folder / "node_modules"})
    )


def javascript(program, rows, module=False):
    """A check by a program of node or bun: `rows` is an expression for the rows of a PRAGMA `n`."""

    def check(bench, text, names, cwd):
        folder = bench.node()
        ask = (
            f"const found = {{}};\nfor (const n of {json.dumps(names)}) "
            f"{{ const rows = {rows}; found[n] = Object.values(rows[0])[0]; }}\n"
            "console.log(JSON.stringify(found));\nprocess.exit(0);\n"
        )
        # Modules are found from the folder of the file, and await stands outside of functions in modules only.
        main = folder / ("check.mjs" if module else "check.cjs")
        main.write_text(text + ask if module else f"(async () => {{\n{text}{ask}}})();\n")
        local = folder / "node_modules" / ".bin" / program
        return last_json(run([need("node") if program == "system-node" else local, main], cwd))

    return check


def diesel(bench, text, names, cwd):
    folder = bench.rust(
        "diesel",
        'diesel = { version = "2", features = ["sqlite", "r2d2", "returning_clauses_for_sqlite_3_35"] }\n'
        'libsqlite3-sys = { version = "*", features = ["bundled"] }',
    )
    program = f"""
use diesel::prelude::*;
fn main() -> Result<(), Box<dyn std::error::Error>> {{
{text}
    let mut connection = pool.get()?;
    for name in {json.dumps(names)} {{
        let sql = diesel::dsl::sql::<diesel::sql_types::Text>(&format!("PRAGMA {{name}}"));
        println!("{{name}} {{}}", sql.get_result::<String>(&mut connection)?);
    }}
    Ok(())
}}
"""
    return cargo(folder, program, cwd)


def seaorm(bench, text, names, cwd):
    folder = bench.rust(
        "seaorm",
        'sea-orm = { version = "1", features = ["sqlx-sqlite", "runtime-tokio"] }\n'
        'tokio = { version = "1", features = ["macros", "rt-multi-thread"] }',
    )
    program = f"""
use sea_orm::{{ConnectionTrait, DbBackend, Statement}};
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {{
{text}
    for name in {json.dumps(names)} {{
        let statement = Statement::from_string(DbBackend::Sqlite, format!("PRAGMA {{name}}"));
        let row = db.query_one(statement).await?.expect("a row");
        let number = row.try_get_by_index::<i64>(0).map(|value| value.to_string());
        println!("{{name}} {{}}", number.or_else(|_| row.try_get_by_index::<String>(0))?);
    }}
    Ok(())
}}
"""
    return cargo(folder, program, cwd)


def elsewhere(what):
    """A binding that no package of the registries used here brings."""

    def check(*_):
        raise Skip(f"it needs {what}")

    return check


def jdbc(bench, text, names, cwd):
    folder = bench.java()
    asks = "".join(
        f'    try (Statement s = connection.createStatement(); ResultSet r = s.executeQuery("PRAGMA {n}")) '
        f'{{ r.next(); System.out.println("{n} " + r.getString(1)); }}\n'
        for n in names
    )
    program = (
        "import java.sql.*;\npublic class Check {\n  public static void main(String[] a) throws Exception {\n"
        f"{text}{asks}  }}\n}}\n"
    )
    (cwd / "Check.java").write_text(program)
    lines = run(["java", "-cp", f"{folder}/lib/*:.", "Check.java"], cwd).splitlines()
    return dict(line.split() for line in lines)


def rusqlite(bench, text, names, cwd):
    folder = bench.rust("rusqlite", 'rusqlite = { version = "*", features = ["bundled"] }')
    program = f"""
fn main() -> Result<(), Box<dyn std::error::Error>> {{
{text}
    for name in {json.dumps(names)} {{
        let value: rusqlite::types::Value =
            connection.query_row(&format!("PRAGMA {{name}}"), [], |row| row.get(0))?;
        match value {{
            rusqlite::types::Value::Integer(value) => println!("{{name}} {{value}}"),
            rusqlite::types::Value::Text(value) => println!("{{name}} {{value}}"),
            other => panic!("{{other:?}}"),
        }}
    }}
    Ok(())
}}
"""
    return cargo(folder, program, cwd)


def sqlx(bench, text, names, cwd):
    folder = bench.rust(
        "sqlx",
        'sqlx = { version = "*", default-features = false, features = ["sqlite", "runtime-tokio"] }\n'
        'tokio = { version = "1", features = ["macros", "rt-multi-thread"] }',
    )
    program = f"""
use sqlx::Row;
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {{
{text}
    for name in {json.dumps(names)} {{
        let sql = sqlx::AssertSqlSafe(format!("PRAGMA {{name}}"));
        let row = sqlx::query(sql).fetch_one(&pool).await?;
        let value: String = row.try_get_unchecked(0)?;
        println!("{{name}} {{value}}");
    }}
    Ok(())
}}
"""
    return cargo(folder, program, cwd)


def cargo(folder, program, cwd):
    (folder / "src" / "main.rs").write_text(program)
    target = os.environ.get("CARGO_TARGET_DIR", folder / "target")
    env = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    run(["cargo", "build", "-q"], folder, env=env)
    binary = pathlib.Path(target) / "debug" / (folder.name.removeprefix("rust-") + "-check")
    return dict(line.split() for line in run([binary], cwd).splitlines())


BINDINGS = {
    "shell": shell,
    "c": c,
    "python": python,
    "django": django,
    "sqlalchemy": sqlalchemy,
    "rails": rails,
    "mattn": go("github.com/mattn/go-sqlite3", "sqlite3"),
    "modernc": go("modernc.org/sqlite", "_"),
    "better-sqlite3": better_sqlite3,
    "jdbc": jdbc,
    "rusqlite": rusqlite,
    "sqlx": sqlx,
    "node": javascript("node", "[db.prepare('PRAGMA ' + n).get()]"),
    "bun": javascript("bun", "[db.query('PRAGMA ' + n).get()]", module=True),
    "drizzle": javascript("system-node", "client.pragma(n)", module=True),
    "knex": javascript("system-node", "await knex.raw('PRAGMA ' + n)"),
    "sequelize": javascript("system-node", "await sequelize.query('PRAGMA ' + n, { type: 'SELECT', logging: false })"),
    "typeorm": javascript("system-node", "await dataSource.query('PRAGMA ' + n)"),
    "gorm": go("github.com/mattn/go-sqlite3", "sqlite3", "gorm.io/gorm", "gorm.io/driver/sqlite", pool="db.DB()"),
    "diesel": diesel,
    "seaorm": seaorm,
    "prisma": elsewhere("a project with generated models"),
    "exposed": elsewhere("a Kotlin compiler"),
    "room": elsewhere("Android"),
    "grdb": elsewhere("Swift"),
    "efcore": elsewhere(".NET"),
    "laravel": elsewhere("a Laravel project"),
    "doctrine": elsewhere("PHP with Composer"),
    "ecto": elsewhere("Elixir"),
    "expo": elsewhere("React Native"),
}


def check(bench, binding, case):
    """The settings that did not take effect, in words."""
    expected = json.loads((case / "expected.json").read_text())
    names = sorted(expected)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        once = (case / "once.sql").read_text()
        if once:
            run([need("sqlite3"), "-batch", "app.db"], folder, input=once)
        text = (case / f"{binding}.txt").read_text()
        found = BINDINGS[binding](bench, text, names, folder)
    return [
        f"{name} is {plain(name, found.get(name))} instead of {plain(name, expected[name])}"
        for name in names
        if plain(name, found.get(name)) != plain(name, expected[name])
    ]


def main():
    parser = argparse.ArgumentParser(description=textwrap.dedent(__doc__).split("\n")[0])
    parser.add_argument("forms", type=pathlib.Path, help="folder that settings_forms wrote")
    parser.add_argument("--work", type=pathlib.Path, help="keep the bindings in this folder")
    parser.add_argument("--only", nargs="*", choices=list(BINDINGS), default=list(BINDINGS))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = (arguments.work or pathlib.Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        failed = False
        for binding in arguments.only:
            for case in sorted(path for path in arguments.forms.iterdir() if path.is_dir()):
                try:
                    problems = check(Bench(work), binding, case)
                    answer = "ok" if not problems else "FAILED: " + "; ".join(problems)
                    failed |= bool(problems)
                except Skip as reason:
                    answer = f"skipped: {reason}"
                except (RuntimeError, ValueError, IndexError, OSError) as error:
                    answer, failed = f"FAILED: {error}", True
                print(f"{binding:15} {case.name:10} {answer}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
