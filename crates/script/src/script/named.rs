//! Names of queries in comments, as sqlc (`-- name: FindUser :one`), aiosql (`-- name: find_user^`) and HugSQL
//! (`-- :name find-user :? :1`) write them.

/// Suffixes of names in aiosql, which tell what the query returns.
const SUFFIXES: [&str; 7] = ["*!", "<!", "^", "!", "$", "#", "*"];

/// Returns the name of a query in a comment.
pub(super) fn name(comment: &str) -> Option<&str> {
    let text = comment.strip_prefix("--")?.trim_start();
    let text = text.strip_prefix("name:").or_else(|| text.strip_prefix(":name "))?;
    let word = text.split_whitespace().next()?;
    let suffix = SUFFIXES.iter().find_map(|suffix| word.strip_suffix(suffix));
    let name = suffix.unwrap_or(word);
    // aiosql writes the parameters of a query behind its name.
    let name = name.split('(').next().unwrap_or(name);
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_spellings_name_queries() {
        for (comment, wanted) in [
            ("-- name: FindUser :one", Some("FindUser")),
            ("--name: find_user^", Some("find_user")),
            ("-- name: add_users*!", Some("add_users")),
            ("-- name: find(id)^", Some("find")),
            ("-- :name find-user :? :1", Some("find-user")),
            ("-- names: x", None),
            ("-- name:", None),
            ("/* name: x */", None),
        ] {
            assert_eq!(name(comment), wanted, "{comment}");
        }
    }
}
