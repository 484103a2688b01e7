//! Words of commands that users paste into a shell.

use std::borrow::Cow;
use std::path::Path;

/// A word of a shell's command line, quoted where it must be.
pub fn word(text: &str) -> Cow<'_, str> {
    // Only a NUL cannot be quoted, and no command line has one.
    shlex::try_quote(text).unwrap_or(Cow::Borrowed(text))
}

/// A path as a word of a shell's command line.
pub fn path(path: &Path) -> String {
    word(&path.display().to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_a_shell_would_split_or_expand_are_quoted() {
        assert_eq!(path(Path::new("runs/a-1")), "runs/a-1");
        assert_eq!(path(Path::new("my runs/a")), "'my runs/a'");
        assert_eq!(word("$x"), "'$x'");
    }
}
