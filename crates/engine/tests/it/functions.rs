//! SQL functions written in Rust, and extensions loaded from files.

use crate::support::{Scratch, engine, memory};

#[test]
fn a_predicate_decides_by_its_texts_and_sees_null() {
    let connection = memory(&engine());
    connection
        .create_predicate("regexp", 2, |texts| match texts {
            [Some(pattern), Some(text)] => Ok(text.contains(pattern)),
            _ => Ok(false),
        })
        .expect("registers");
    let answer = |sql: &str| connection.query_i64(sql).expect("runs");
    assert_eq!(answer("SELECT 'größer' REGEXP 'öß'"), 1);
    assert_eq!(answer("SELECT 'grosser' REGEXP 'öß'"), 0);
    assert_eq!(answer("SELECT NULL REGEXP 'x'"), 0);
    assert_eq!(answer("SELECT 1234 REGEXP 23"), 1);
}

#[test]
fn an_error_or_a_panic_of_a_predicate_is_an_error_of_the_statement() {
    let connection = memory(&engine());
    connection.create_predicate("never", 0, |_| Err("not today".to_owned())).expect("registers");
    let error = connection.query_i64("SELECT never()").unwrap_err();
    assert!(error.to_string().contains("not today"), "{error}");
    connection
        .create_predicate("breaks", 1, |texts| match texts {
            [Some("break")] => panic!("on purpose"),
            _ => Ok(true),
        })
        .expect("registers");
    let error = connection.query_i64("SELECT breaks('break')").unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    assert_eq!(connection.query_i64("SELECT breaks('no')").unwrap(), 1);
}

#[test]
fn functions_of_several_libraries_and_connections_keep_apart() {
    let libraries = [engine(), engine(), engine()];
    for round in 0..20 {
        let connections: Vec<_> = libraries.iter().map(memory).collect();
        for (number, connection) in connections.iter().enumerate() {
            let wanted = number.to_string();
            connection
                .create_predicate("mine", 1, move |texts| Ok(texts == [Some(wanted.as_str())]))
                .expect("registers");
        }
        for (number, connection) in connections.iter().enumerate() {
            let sql = format!("SELECT mine('{number}') + 2 * mine('{}')", number + 1);
            assert_eq!(connection.query_i64(&sql).unwrap(), 1, "{round}");
        }
    }
}

#[test]
fn too_many_arguments_are_refused() {
    let connection = memory(&engine());
    let refused = connection.create_predicate("many", 9, |_| Ok(true)).unwrap_err().to_string();
    assert_eq!(refused, "many has 9 arguments, and a function may have at most 8 here");
    assert!(connection.create_predicate("eight", 8, |texts| Ok(texts.len() == 8)).is_ok());
    let answer = connection.query_i64("SELECT eight(1,2,3,4,5,6,7,8)");
    assert_eq!(answer.unwrap(), 1);
}

#[test]
fn stand_ins_compare_and_compute_on_every_connection() {
    let library = engine();
    let all = "uni=NOCASE\nspaces=rtrim\nplain=binary\n\nslug=replace(lower(?1), ' ', '-')\nlower=upper(?1)\nsame=?1 -- the value\nboth=ifnull(?1, 'x') || ifnull(?2, 'y')\nchance=hex(randomblob(9))\n";
    library.stand_in(all).unwrap();
    for _ in 0..2 {
        let connection = memory(&library);
        let answer = |sql: &str| connection.query_text(&format!("SELECT {sql}")).expect("runs");
        for (sql, wanted) in [
            ("slug('A b')", "a-b"),
            ("lower('a')", "A"),
            ("both('a', 'b') || both('a')", "abay"),
            ("count(DISTINCT chance()) || '' FROM (VALUES (1), (2), (3))", "3"),
            ("typeof(same(NULL)) || typeof(same(1)) || typeof(same(1.5))", "nullintegerreal"),
            ("hex(same(x'00ff'))", "00FF"),
            ("('aB' = 'Ab' COLLATE uni) || ('a' < 'B' COLLATE uni)", "11"),
            ("('a' = 'a  ' COLLATE spaces) || ('a' = 'a  ' COLLATE plain)", "10"),
        ] {
            assert_eq!(answer(sql), wanted, "{sql}");
        }
        connection.execute("CREATE TABLE t(a COLLATE uni); CREATE INDEX i ON t(slug(a)); INSERT INTO t VALUES ('B'), ('a'); VACUUM").unwrap();
        assert_eq!(answer("group_concat(a, '') FROM (SELECT a FROM t ORDER BY a)"), "aB");
        connection.close().unwrap();
    }
}

#[test]
fn an_invalid_stand_in_is_named() {
    for (wrong, why) in [
        ("slug", "neither NAME=COLLATION"),
        ("=lower(?1)", "neither NAME=COLLATION"),
        ("slug=lower(?1", "the stand-in slug=lower(?1: "),
        ("uni=nocas", "no such column: nocas"),
        ("slug=?1); DROP TABLE t; --", "the stand-in slug"),
    ] {
        let error = engine().stand_in(wrong).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let library = engine();
    library.stand_in("fails=json(?1)").unwrap();
    let error = memory(&library).query_value("SELECT fails('{')").unwrap_err().to_string();
    assert!(error.contains("malformed JSON"), "{error}");
}

#[test]
fn what_is_no_extension_is_named_and_sql_may_load_none() {
    let connection = memory(&engine());
    let scratch = Scratch::new();
    let path = scratch.file("not-an-extension.so");
    std::fs::write(&path, "text").unwrap();
    let error = connection.load_extension(&path).unwrap_err().to_string();
    assert!(error.contains("not-an-extension.so"), "{error}");
    let sql = format!("SELECT load_extension('{}')", path.display());
    let error = connection.query_i64(&sql).unwrap_err().to_string();
    assert!(error.contains("not authorized"), "{error}");
}

#[test]
fn an_extension_is_loaded_by_its_path_and_its_entry_point_run() {
    let scratch = Scratch::new();
    let (source, extension) = (scratch.file("own.c"), scratch.file("own.so"));
    // An extension may refuse to be loaded: the second time, this one does.
    let code = "static int loaded;\n\
        int sqlite3_extension_init(void *db, char **message, const void *api) {\n\
        return loaded++ ? 1 : 0; }\n";
    std::fs::write(&source, code).unwrap();
    let built = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&extension, &source])
        .status()
        .expect("the C compiler that built the engine");
    assert!(built.success());
    let library = engine();
    memory(&library).load_extension(&extension).expect("loads");
    // SQLite unloads the extension with its connection, so that it starts anew each time.
    let connection = memory(&library);
    connection.load_extension(&extension).expect("loads");
    let again = connection.load_extension(&extension).unwrap_err().to_string();
    assert!(again.contains("own.so"), "{again}");
}
