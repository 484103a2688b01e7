//! Databases that are not copied.

use std::fs::{self, File};
use std::sync::Arc;

use engine::vfs::Overlay;
use pragmark_explain::{Needs, Subject};

use super::{SHOP, explained, subject};

#[test]
fn a_database_that_is_not_copied_gives_the_same_answers_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    drop(subject(folder.path(), SHOP));
    let [path, copy] = ["shop.db", "copy.db"].map(|name| folder.path().join(name));
    fs::copy(&path, &copy).unwrap();
    let copied = Subject::open(&copy, None, Needs::default()).unwrap();
    let before = fs::read(&path).unwrap();
    let changes = folder.path().join("changes.db");
    File::create(&changes).unwrap().set_len(before.len() as u64).unwrap();
    let original = Arc::new(Overlay::over(File::open(&path).unwrap()).unwrap());
    let covered = Subject::open(&changes, Some(Arc::clone(&original)), Needs::default()).unwrap();
    for sql in [
        "SELECT * FROM orders WHERE customer_id = 17 ORDER BY created_at",
        "SELECT country, count(*) FROM customers GROUP BY country",
        "UPDATE items SET qty = qty + 1 WHERE product_id = 5",
        "DELETE FROM orders",
    ] {
        let [there, here] = [&covered, &copied].map(|subject| explained(subject, sql));
        assert_eq!(there.observation.cost, here.observation.cost, "{sql}");
        assert_eq!(there.advice.made, here.advice.made, "{sql}");
    }
    assert!(!original.has_changed().unwrap() && fs::read(&path).unwrap() == before);
}
