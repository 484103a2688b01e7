//! Labels of agents, and expressions that choose agents by them, such as `disk=nvme and not site=lab`.

use std::collections::BTreeMap;
use std::fmt;

/// The labels of an agent: its own about the machine, and those its user added.
pub type Labels = BTreeMap<String, String>;

/// A condition on labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// The label has this value; or, with `*`, any.
    Is(String, String),
    /// It does not hold.
    Not(Box<Expression>),
    /// Both hold.
    And(Box<Expression>, Box<Expression>),
    /// At least one holds.
    Or(Box<Expression>, Box<Expression>),
}

/// An expression that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a label expression: {why}")]
pub struct ExpressionError {
    text: String,
    why: String,
}

impl Expression {
    /// Returns whether it holds for these labels.
    pub fn holds(&self, labels: &Labels) -> bool {
        match self {
            Expression::Is(name, value) if value == "*" => labels.contains_key(name),
            Expression::Is(name, value) => labels.get(name).is_some_and(|label| label == value),
            Expression::Not(inner) => !inner.holds(labels),
            Expression::And(left, right) => left.holds(labels) && right.holds(labels),
            Expression::Or(left, right) => left.holds(labels) || right.holds(labels),
        }
    }
}

impl std::str::FromStr for Expression {
    type Err = ExpressionError;

    /// Reads `name=value`, `name!=value`, `not`, `and`, `or` and parentheses; `not` binds closest, then `and`.
    fn from_str(text: &str) -> Result<Expression, ExpressionError> {
        let error = |why: String| ExpressionError { text: text.to_owned(), why };
        let mut words = Words(words(text).map_err(error)?);
        let expression = words.alternatives().map_err(error)?;
        match words.0.first() {
            None => Ok(expression),
            Some(rest) => Err(error(format!("`{rest}` is too much"))),
        }
    }
}

/// Splits text at blanks and parentheses; double quotes hold blanks together.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if quoted => last(&mut words).push(c),
            '(' | ')' => words.extend([c.to_string(), String::new()]),
            c if c.is_whitespace() => words.push(String::new()),
            c => last(&mut words).push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    if quoted { Err("a quotation mark is missing".to_owned()) } else { Ok(words) }
}

fn last(words: &mut [String]) -> &mut String {
    words.last_mut().expect("it begins with one")
}

/// The words that remain to be read.
struct Words(Vec<String>);

impl Words {
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.0.first().is_some_and(|next| next == word);
        if is_next {
            self.0.remove(0);
        }
        is_next
    }

    fn alternatives(&mut self) -> Result<Expression, String> {
        let mut left = self.conjunction()?;
        while self.take("or") {
            left = Expression::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Expression, String> {
        let mut left = self.single()?;
        while self.take("and") {
            left = Expression::And(Box::new(left), Box::new(self.single()?));
        }
        Ok(left)
    }

    fn single(&mut self) -> Result<Expression, String> {
        if self.take("not") {
            return Ok(Expression::Not(Box::new(self.single()?)));
        }
        if self.take("(") {
            let inner = self.alternatives()?;
            return if self.take(")") { Ok(inner) } else { Err("a `)` is missing".to_owned()) };
        }
        if self.0.is_empty() {
            Err("it ends too early".to_owned())
        } else {
            comparison(&self.0.remove(0))
        }
    }
}

fn comparison(word: &str) -> Result<Expression, String> {
    let is = |name: &str, value: &str| Expression::Is(name.to_owned(), value.to_owned());
    match (word.split_once("!="), word.split_once('=')) {
        (Some((name, value)), _) if !name.is_empty() => {
            Ok(Expression::Not(Box::new(is(name, value))))
        }
        (None, Some((name, value))) if !name.is_empty() => Ok(is(name, value)),
        _ => Err(format!("`{word}` is no condition like disk=nvme")),
    }
}

/// Writes the expression so that it can be read again, with parentheses throughout.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expression::Is(name, value) => write!(f, "\"{name}={value}\""),
            Expression::Not(inner) => write!(f, "not ( {inner} )"),
            Expression::And(left, right) => write!(f, "( {left} and {right} )"),
            Expression::Or(left, right) => write!(f, "( {left} or {right} )"),
        }
    }
}

/// Labels in words: `disk=nvme, site=lab`.
pub struct Listed<'a>(pub &'a Labels);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{name}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> bool {
        let labels = [("disk", "nvme"), ("site", "lab"), ("cpu", "Xeon Gold")];
        let labels = labels.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let expression = text.parse::<Expression>().unwrap();
        assert_eq!(expression.to_string().parse(), Ok(expression.clone()));
        expression.holds(&labels.into())
    }

    #[test]
    fn expressions_choose_by_labels() {
        for text in [
            "disk=nvme",
            "disk!=hdd",
            "not disk=hdd",
            "disk=hdd or site=lab",
            "site=lab and (disk=hdd or disk=nvme)",
            "\"cpu=Xeon Gold\"",
            "cpu=\"Xeon Gold\" and disk=*",
            "disk=hdd and site=home or site=lab",
        ] {
            assert!(holds(text), "{text}");
        }
        for text in ["disk=hdd", "not disk=nvme", "gpu=*", "disk=nvme and site=home", "site!=lab"] {
            assert!(!holds(text), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_an_error_that_says_why() {
        for (text, why) in [
            ("", "too early"),
            ("disk", "no condition"),
            ("(disk=a", "`)` is missing"),
            ("disk=a site=b", "too much"),
            ("disk=\"a", "quotation mark"),
            ("=a", "no condition"),
        ] {
            let error = text.parse::<Expression>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
