//! An experiment as the text of a file.

use super::Experiment;

impl Experiment {
    /// The text of a file that holds this experiment.
    ///
    /// # Errors
    /// It holds what TOML cannot, in words: a number beyond 64 bits.
    pub fn to_toml(&self) -> Result<String, String> {
        toml::to_string(self).map_err(|error| error.to_string())
    }
}

/// A level as a command line gives it: a truth value, a number, or else text.
pub fn level_of(text: &str) -> crate::level::Level {
    use crate::level::Level;
    let truth = text.parse().map(Level::Bool).ok();
    let whole = || text.parse().map(Level::Int).ok();
    truth.or_else(whole).unwrap_or_else(|| Level::Text(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Level;

    #[test]
    fn a_written_experiment_reads_back_the_same() {
        let text = "id = \"a\"\nquestion = \"?\"\nworkload = \"w\"\nbase = { rows = 3, sql = \"SELECT 'x'\\n;\" }\n[factors]\njournal_mode = [\"wal\", \"delete\"]\n[design]\nkind = \"factorial\"\nbaseline = { journal_mode = \"wal\" }\n[[variants]]\nlevels = { journal_mode = \"wal\" }\nlabel = \"the log\"\n";
        let experiment: Experiment = toml::from_str(text).unwrap();
        let written = experiment.to_toml().unwrap();
        assert_eq!(toml::from_str::<Experiment>(&written).unwrap(), experiment);
    }

    #[test]
    fn a_level_has_the_type_that_it_looks_like() {
        assert_eq!(level_of("-2000"), Level::Int(-2_000));
        assert_eq!(level_of("true"), Level::Bool(true));
        assert_eq!(level_of("wal"), Level::Text("wal".to_owned()));
        assert_eq!(level_of("1.5"), Level::Text("1.5".to_owned()));
    }
}
