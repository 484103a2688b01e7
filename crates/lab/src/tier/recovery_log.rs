//! The trail of a crash trial: which recovery is under way, in a file that outlives the process. It tells which crash
//! image an engine was given when it ended the process, or hung.

use std::fmt;
use std::str::FromStr;

/// The name of the file in the directory of the trial.
pub const RECOVERY_LOG: &str = "recoveries.trail";

/// The contents of the file. As text it has a line for each field; the first line always has the same length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryLog {
    /// The recovery that began last, counted from 1; 0 before the first.
    pub recovery: u64,
    /// The storage models of the trial.
    pub models: Vec<String>,
    /// How the engine ended in that recovery, where that is known.
    pub ended: Option<String>,
}

impl RecoveryLog {
    /// Returns the line of a recovery, which is written over the line of the one before.
    pub fn line(recovery: u64) -> String {
        format!("{recovery:020}\n")
    }
}

impl fmt::Display for RecoveryLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = self.ended.as_deref().unwrap_or_default();
        let line = RecoveryLog::line(self.recovery);
        write!(f, "{line}{}\n{}", self.models.join(","), ended)
    }
}

impl FromStr for RecoveryLog {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<RecoveryLog, Self::Err> {
        let mut lines = text.splitn(3, '\n');
        let mut next = || lines.next().unwrap_or_default();
        let recovery = next().parse()?;
        let models = next().split(',').filter(|model| !model.is_empty());
        Ok(RecoveryLog {
            recovery,
            models: models.map(str::to_owned).collect(),
            ended: Some(next().to_owned()).filter(|ended| !ended.is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trail_is_read_as_it_was_written_and_goes_on_in_its_place() {
        let begun = RecoveryLog {
            models: vec!["kill".to_owned(), "torn".to_owned()],
            ..RecoveryLog::default()
        };
        let text = begun.to_string();
        assert_eq!(text.parse(), Ok(begun.clone()));
        let line = RecoveryLog::line(17);
        let on = format!("{line}{}", &text[line.len()..]);
        let at_17 = RecoveryLog { recovery: 17, ..begun };
        assert_eq!(on.parse(), Ok(at_17.clone()));
        let ended = RecoveryLog { ended: Some("signal 11\nin two lines".to_owned()), ..at_17 };
        assert_eq!(ended.to_string().parse(), Ok(ended));
        assert!("".parse::<RecoveryLog>().is_err());
    }
}
