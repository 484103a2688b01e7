//! Words for messages: times, counts, and commands to paste into a shell.

use std::borrow::Cow;
use std::path::Path;

/// Returns a word of a shell's command line, quoted if necessary.
pub fn shell_word(text: &str) -> Cow<'_, str> {
    // Only a NUL cannot be quoted, and no command line has one.
    shlex::try_quote(text).unwrap_or(Cow::Borrowed(text))
}

/// Returns a path as a word of a shell's command line.
pub fn shell_path(path: &Path) -> String {
    shell_word(&path.display().to_string()).into_owned()
}

/// Returns a time as a person would say it.
pub fn humanly(seconds: f64) -> String {
    match seconds {
        below if below < 1.0 => "less than a second".to_owned(),
        below if below < 90.0 => format!("about {below:.0} s"),
        below if below < 5_400.0 => format!("about {:.0} min", below / 60.0),
        more => format!("about {:.1} h", more / 3_600.0),
    }
}

/// Returns a number with its noun.
pub fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

/// Returns a number with its thousands set apart.
pub fn grouped(count: u64) -> String {
    report::figures::count(count as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_a_shell_would_split_or_expand_are_quoted() {
        assert_eq!(shell_path(Path::new("runs/a-1")), "runs/a-1");
        assert_eq!(shell_path(Path::new("my runs/a")), "'my runs/a'");
        assert_eq!(shell_word("$x"), "'$x'");
    }

    #[test]
    fn times_are_rounded_to_what_a_person_would_say() {
        assert_eq!(humanly(0.2), "less than a second");
        assert_eq!(humanly(42.4), "about 42 s");
        assert_eq!(humanly(600.0), "about 10 min");
        assert_eq!(humanly(9_000.0), "about 2.5 h");
    }
}
