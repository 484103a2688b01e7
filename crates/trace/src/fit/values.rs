//! The values of one slot, and what a script puts in their place.
//!
//! Which distribution values have: pure functions over counts.

use std::collections::HashMap;
use std::hash::Hash;

use serde_json::Value as Json;
use values::calendar;

/// The longest texts that are counted one by one, in bytes.
const COUNTED: usize = 200;
/// The most different texts that a script chooses from.
const CHOICES: usize = 8;
/// The most different texts that a script draws from a table of their own.
const REPEATED: usize = 1_000;
/// The fewest values that must be different to count as new ones.
const NEW: u64 = 20;
/// How far above the largest recorded value new ones are.
const NEW_RANGE: i64 = 1 << 40;

/// The values that a slot had.
#[derive(Debug, Default)]
pub struct Values {
    integers: Counts<i64>,
    reals: Range,
    texts: Counts<String>,
    text_lengths: Range,
    /// Texts that are objects or lists of JSON.
    documents: u64,
    blob_lengths: Range,
    nulls: u64,
    /// How far numbers or times are above the value of the slot before.
    beside: Range,
}

/// The least and the largest of some numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Range {
    min: f64,
    max: f64,
    count: u64,
}

impl Range {
    fn add(&mut self, value: f64) {
        let is_first = self.count == 0;
        self.min = if is_first { value } else { self.min.min(value) };
        self.max = if is_first { value } else { self.max.max(value) };
        self.count += 1;
    }
}

/// The script's substitute for values.
#[derive(Clone, Debug, PartialEq)]
pub enum Fit {
    /// Always the same SQL.
    Constant(String),
    /// Existing values of a column.
    Drawn {
        /// The table and the column.
        column: (String, String),
        /// The parameter of Zipf's law; nothing if all come equally often.
        zipf: Option<f64>,
        /// Whether the column has nothing but numbers, with which a script can calculate.
        are_numbers: bool,
    },
    /// Whole numbers, all equally likely.
    Uniform(i64, i64),
    /// Whole numbers by Zipf's law, in random order.
    Zipfian(i64, i64, f64),
    /// Whole numbers above all recorded ones.
    New(i64),
    /// Numbers with a fraction, all equally likely.
    Real(f64, f64),
    /// One of these texts as SQL, each with how often it came.
    Choice(Vec<(String, u64)>),
    /// Dates or times of one form, all equally likely.
    Time {
        /// The first and the last one, in seconds since 1970.
        between: (i64, i64),
        /// The form, for `strftime()`.
        form: &'static str,
        /// The end of each: a fraction, which stays the same, and a zone.
        end: String,
    },
    /// Whole numbers or times that are above the value of the slot before by this much.
    Beside {
        /// The least and the largest difference.
        by: (i64, i64),
        /// The fit of the values by themselves.
        own: Box<Fit>,
    },
    /// Random texts of these lengths.
    Text(u64, u64),
    /// Objects of JSON with random texts of these lengths.
    Document(u64, u64),
    /// Random bytes of these lengths.
    Blob(u64, u64),
}

impl Values {
    /// Returns the dates or times that all texts are, if they have one form.
    fn times(&self) -> Option<Fit> {
        let times: Option<Vec<_>> = self.texts.iter().map(|(text, _)| time(text)).collect();
        let times = times?;
        let (form, _, end) = times.first()?;
        let is_alike =
            |(other, _, rest): &(&str, i64, &str)| other == form && rest.len() == end.len();
        let seconds = || times.iter().map(|(_, seconds, _)| *seconds);
        let between = (seconds().min()?, seconds().max()?);
        times.iter().all(is_alike).then(|| Fit::Time { between, form, end: end.to_string() })
    }

    /// Adds a value as traces have it; a long one must be in its place.
    pub fn add(&mut self, value: &Json) {
        match value {
            Json::Null => self.nulls += 1,
            Json::Number(number) => match number.as_i64() {
                Some(number) => self.integers.add(number),
                None => self.reals.add(number.as_f64().unwrap_or(0.0)),
            },
            Json::String(text) => self.add_text(text),
            Json::Object(object) => {
                let length = |name: &str| object.get(name).and_then(Json::as_u64);
                let hashed = length("length").unwrap_or(0) as f64;
                if object.contains_key("text_hash") {
                    self.text_lengths.add(hashed);
                } else if object.contains_key("blob_hash") {
                    self.blob_lengths.add(hashed);
                } else if let Some(digits) = object.get("hex").and_then(Json::as_str) {
                    self.blob_lengths.add((digits.len() / 2) as f64);
                } else if let Some(length) = length("zeroblob") {
                    self.blob_lengths.add(length as f64);
                }
            }
            _ => {}
        }
    }

    /// Adds the difference to the value of the slot before.
    pub fn add_beside(&mut self, value: &Json, before: &Json) {
        let difference = match (value, before) {
            (Json::String(value), Json::String(before)) => {
                time(value).zip(time(before)).map(|((_, a, _), (_, b, _))| a - b)
            }
            _ => value.as_i64().zip(before.as_i64()).and_then(|(a, b)| a.checked_sub(b)),
        };
        if let Some(difference) = difference {
            self.beside.add(difference as f64);
        }
    }

    /// Returns the fit of the ends of ranges, such as of BETWEEN, to the begins that `before` is the fit of: they are much closer to
    /// these than to each other.
    pub fn fit_of_ends(&self, before: &Fit, own: &Fit) -> Option<Fit> {
        /// How much closer.
        const CLOSER: f64 = 4.0;
        let Range { min, max, count } = self.beside;
        let span = match own {
            Fit::Uniform(min, max) | Fit::Zipfian(min, max, _) => (max - min) as f64,
            Fit::Time { between: (first, last), .. } => (last - first) as f64,
            _ => return None,
        };
        let has_number = match before {
            Fit::Drawn { are_numbers, .. } => *are_numbers && !matches!(own, Fit::Time { .. }),
            Fit::Uniform(..) | Fit::Zipfian(..) | Fit::Time { .. } | Fit::Beside { .. } => true,
            _ => false,
        };
        let is_all = count == self.integers.total().max(self.texts.total());
        let by = (min as i64, max as i64);
        (is_all && has_number && (max - min) * CLOSER < span)
            .then(|| Fit::Beside { by, own: Box::new(own.clone()) })
    }

    fn add_text(&mut self, text: &str) {
        self.text_lengths.add(text.chars().count() as f64);
        let is_document = text.trim_start().starts_with(['{', '[']);
        self.documents += u64::from(is_document && serde_json::from_str::<Json>(text).is_ok());
        if text.len() <= COUNTED {
            self.texts.add(text.to_owned());
        }
    }

    /// Returns the values to compare with a column's: integers, or texts if there are more of them.
    pub fn samples(&self, most: usize) -> Vec<Json> {
        if self.integers.total() >= self.texts.total() {
            self.integers.iter().map(|(value, _)| Json::from(*value)).take(most).collect()
        } else {
            self.texts.iter().map(|(value, _)| value.as_str().into()).take(most).collect()
        }
    }

    /// Returns the texts with how often each came, if they are many, and most came again.
    pub fn repeated(&self) -> Option<impl Iterator<Item = (&String, u64)>> {
        let (total, distinct) = (self.texts.total(), self.texts.distinct());
        let are_all = total == self.text_lengths.count
            && self.nulls + self.integers.total() + self.reals.count + self.blob_lengths.count == 0;
        let come_again = distinct > CHOICES && distinct <= REPEATED && total >= 2 * distinct as u64;
        (are_all && come_again).then(|| self.texts.iter())
    }

    /// How values of a column were chosen that has this many.
    pub fn popularity(&self, domain: u64) -> Option<f64> {
        if self.integers.total() >= self.texts.total() {
            self.integers.zipf(domain)
        } else {
            self.texts.zipf(domain)
        }
    }

    /// Returns the substitute for the values, by the kind that most of them have. `inserts` tells whether the statement
    /// inserts them.
    pub fn fit(&self, inserts: bool) -> Fit {
        let counts = [
            self.integers.total(),
            self.reals.count,
            self.text_lengths.count,
            self.blob_lengths.count,
            self.nulls,
        ];
        let most = counts.iter().max().copied().unwrap_or(0);
        match counts.iter().position(|count| *count == most) {
            _ if most == 0 => Fit::Constant("NULL".to_owned()),
            Some(0) => self.integer(inserts),
            Some(1) => real(self.reals),
            Some(2) => self.text(),
            Some(3) => {
                let range = self.blob_lengths;
                Fit::Blob(range.min as u64, range.max as u64)
            }
            _ => Fit::Constant("NULL".to_owned()),
        }
    }

    fn integer(&self, inserts: bool) -> Fit {
        let values = || self.integers.iter().map(|(value, _)| *value);
        let (min, max) = (values().min().unwrap_or(0), values().max().unwrap_or(0));
        let (total, distinct) = (self.integers.total(), self.integers.distinct() as u64);
        if distinct == 1 {
            return Fit::Constant(min.to_string());
        }
        if inserts && distinct == total && total >= NEW && max < i64::MAX - NEW_RANGE {
            return Fit::New(max);
        }
        let domain = max.checked_sub(min).and_then(|span| span.checked_add(1));
        match domain.and_then(|domain| self.integers.zipf(domain.unsigned_abs())) {
            Some(parameter) => Fit::Zipfian(min, max, parameter),
            None => Fit::Uniform(min, max),
        }
    }

    fn text(&self) -> Fit {
        let is_counted = self.texts.total() == self.text_lengths.count;
        if is_counted && self.texts.distinct() <= CHOICES {
            let mut all: Vec<(String, u64)> =
                self.texts.iter().map(|(text, count)| (literal(text), count)).collect();
            all.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
            return match all.as_slice() {
                [(only, _)] => Fit::Constant(only.clone()),
                _ => Fit::Choice(all),
            };
        }
        if let Some(times) = is_counted.then(|| self.times()).flatten() {
            return times;
        }
        let (min, max) = (self.text_lengths.min as u64, self.text_lengths.max as u64);
        if self.documents < self.text_lengths.count {
            return Fit::Text(min, max);
        }
        // What surrounds the text has eight characters.
        Fit::Document(min.saturating_sub(8), max.saturating_sub(8))
    }
}

/// Returns the form of a date or time, for `strftime()`, with its seconds since 1970 and what follows them.
fn time(text: &str) -> Option<(&'static str, i64, &str)> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let is = |place: usize, sign: u8| text.as_bytes().get(place) == Some(&sign);
    let is_date = is(4, b'-') && is(7, b'-');
    let day = is_date.then(|| calendar::day(number(0, 4)?, number(5, 7)?, number(8, 10)?))??;
    let (form, second) = match text.as_bytes().get(10) {
        None => return Some(("%Y-%m-%d", day * 86_400, "")),
        Some(b' ') => ("%Y-%m-%d %H:%M:%S", number(17, 19)?),
        Some(b'T') => ("%Y-%m-%dT%H:%M:%S", number(17, 19)?),
        Some(_) => return None,
    };
    let is_time = is(13, b':') && is(16, b':');
    let seconds = number(11, 13)? * 3_600 + number(14, 16)? * 60 + second;
    is_time.then(|| (form, day * 86_400 + seconds, &text[19..]))
}

fn real(range: Range) -> Fit {
    if range.min == range.max {
        Fit::Constant(format!("{:?}", range.min))
    } else {
        Fit::Real(range.min, range.max)
    }
}

fn literal(text: &str) -> String {
    // A script knows parameters and commands by these.
    if text.contains(['\0', '\\']) {
        format!("CAST(x'{}' AS TEXT)", hex(text.as_bytes()))
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Fit {
    /// Returns the meta command that gives the variable its value, if it needs one. `before` is the variable of the slot before.
    pub fn command(&self, name: &str, before: &str) -> Option<String> {
        let set = |expression: String| Some(format!("\\set {name} {expression}"));
        match self {
            Fit::Constant(_) => None,
            Fit::Drawn { column, zipf, .. } => {
                let (table, column) = column;
                let popularity =
                    zipf.map_or("uniform".to_owned(), |exponent| format!("zipfian {exponent}"));
                Some(format!("\\draw {name} {table}.{column} {popularity}"))
            }
            Fit::Uniform(min, max) | Fit::Time { between: (min, max), .. } => {
                set(format!("random({min}, {max})"))
            }
            Fit::Beside { by: (min, max), .. } if min == max => set(format!(":{before} + {min}")),
            Fit::Beside { by: (min, max), .. } => set(format!(":{before} + random({min}, {max})")),
            Fit::Zipfian(min, max, parameter) => {
                let size = max - min + 1;
                set(format!("{min} + permute(random_zipfian(1, {size}, {parameter}) - 1, {size})"))
            }
            Fit::New(above) => {
                let (from, to) = (above + 1, above + NEW_RANGE);
                set(format!("random({from}, {to})"))
            }
            Fit::Real(min, max) => {
                set(format!("{min:?} + random(0, 1000000) / 1000000.0 * {:?}", max - min))
            }
            Fit::Choice(all) => {
                let total: u64 = all.iter().map(|(_, count)| count).sum();
                set(format!("random(1, {total})"))
            }
            Fit::Text(min, max) | Fit::Document(min, max) | Fit::Blob(min, max) => {
                set(format!("random({min}, {max})"))
            }
        }
    }

    /// Returns the SQL that takes the place of the value.
    pub fn sql(&self, name: &str) -> String {
        match self {
            Fit::Constant(sql) => sql.clone(),
            Fit::Choice(all) => {
                let mut sum = 0;
                let cases = all.iter().map(|(text, count)| {
                    sum += count;
                    format!("WHEN :{name} <= {sum} THEN {text}")
                });
                format!("CASE {} END", cases.collect::<Vec<_>>().join(" "))
            }
            Fit::Beside { own, .. } => own.sql(name),
            Fit::Time { form, end, .. } => {
                let time = format!("strftime('{form}', :{name}, 'unixepoch')");
                if end.is_empty() { time } else { format!("{time} || {}", literal(end)) }
            }
            // A byte has two digits.
            Fit::Text(..) => format!("substr(hex(randomblob(:{name} / 2 + 1)), 1, :{name})"),
            Fit::Document(min, max) => {
                format!("json_object('v', {})", Fit::Text(*min, *max).sql(name))
            }
            Fit::Blob(..) => format!("randomblob(:{name})"),
            _ => format!(":{name}"),
        }
    }
}

/// How often values came, in two halves by turns: one chooses the order of the values, the other judges.
#[derive(Clone, Debug)]
pub struct Counts<T> {
    counts: HashMap<T, [u64; 2]>,
    total: u64,
}

impl<T> Default for Counts<T> {
    fn default() -> Counts<T> {
        Counts { counts: HashMap::new(), total: 0 }
    }
}

impl<T: Eq + Hash> Counts<T> {
    /// Counts a value.
    pub fn add(&mut self, value: T) {
        let half = (self.total % 2) as usize;
        self.counts.entry(value).or_default()[half] += 1;
        self.total += 1;
    }

    /// Returns how many values there were.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns how many different ones.
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// Returns the values with how often each came.
    pub fn iter(&self) -> impl Iterator<Item = (&T, u64)> {
        self.counts.iter().map(|(value, [a, b])| (value, a + b))
    }

    /// Returns the parameter of Zipf's law by which one of `domain` values is chosen, where that explains the values
    /// better than that all are equally likely; between 1.001 and 4, as scripts can have it.
    pub fn zipf(&self, domain: u64) -> Option<f64> {
        let mut ranked: Vec<[u64; 2]> = self.counts.values().copied().collect();
        ranked.sort_unstable_by_key(|[a, _]| std::cmp::Reverse(*a));
        let known = ranked.iter().take_while(|[a, _]| *a > 0).count();
        let judged: u64 = ranked.iter().map(|[_, b]| b).sum();
        if domain < 2 || judged < FEWEST {
            return None;
        }
        let uniform = -(judged as f64) * (domain as f64).ln();
        let parameters = (0..=STEPS).map(|step| 1.001 + 3.0 * step as f64 / STEPS as f64);
        let best = parameters
            .map(|exponent| (exponent, likelihood(&ranked, known, domain, exponent)))
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        (best.1 > uniform + MARGIN).then_some((best.0 * 1000.0).round() / 1000.0)
    }
}

/// The fewest values by which a law is judged.
const FEWEST: u64 = 20;
/// How many parameters are tried.
const STEPS: u32 = 60;
/// By how much a law must be more likely, as a logarithm.
const MARGIN: f64 = 3.0;
/// Terms of a sum that are added one by one.
const EXACT: u64 = 1_000;

/// Returns the logarithm of the likelihood of the second half under Zipf's law over the ranks of the first. Values that
/// the first half lacks share what is left.
fn likelihood(ranked: &[[u64; 2]], known: usize, domain: u64, parameter: f64) -> f64 {
    let all = harmonic(domain, parameter);
    let mut sum = 0.0;
    for (rank, [_, b]) in (1_u64..).zip(&ranked[..known]) {
        sum += *b as f64 * (-parameter * (rank as f64).ln() - all.ln());
    }
    let others: u64 = ranked[known..].iter().map(|[_, b]| b).sum();
    if others == 0 {
        return sum;
    }
    let rest = domain.saturating_sub(known as u64).max(1) as f64;
    let tail = (all - harmonic(known as u64, parameter)).max(f64::MIN_POSITIVE);
    sum + others as f64 * ((tail / all).ln() - rest.ln())
}

/// Returns the sum of r to the power of -s for r from 1 to n; an integral from the thousandth term on.
fn harmonic(n: u64, s: f64) -> f64 {
    let exact: f64 = (1..=n.min(EXACT)).map(|rank| (rank as f64).powf(-s)).sum();
    if n <= EXACT {
        return exact;
    }
    let power = 1.0 - s;
    let middle = |rank: u64| (rank as f64 + 0.5).powf(power);
    exact + (middle(n) - middle(EXACT)) / power
}

#[cfg(test)]
mod tests {
    use script::Prng;
    use serde_json::json;

    use super::*;

    fn fit(values: &[Json], inserts: bool) -> Fit {
        let mut all = Values::default();
        values.iter().for_each(|value| all.add(value));
        all.fit(inserts)
    }

    #[test]
    fn the_kind_that_most_values_have_decides() {
        assert_eq!(fit(&[json!(7), json!(7)], false), Fit::Constant("7".into()));
        assert_eq!(fit(&[json!(7), json!(9), json!(null)], false), Fit::Uniform(7, 9));
        assert_eq!(fit(&[json!(1.5), json!(2.5)], false), Fit::Real(1.5, 2.5));
        assert_eq!(fit(&[json!("it's")], false), Fit::Constant("'it''s'".into()));
        let two = [json!("a"), json!("b"), json!("b")];
        assert_eq!(
            fit(&two, false).sql("x"),
            "CASE WHEN :x <= 2 THEN 'b' WHEN :x <= 3 THEN 'a' END"
        );
        let many: Vec<Json> = (0..20).map(|it| json!("x".repeat(it))).collect();
        assert_eq!(fit(&many, false), Fit::Text(0, 19));
        let days: Vec<Json> = (1..20).map(|it| json!(format!("2024-03-{it:02}"))).collect();
        let time = |of: &Fit| (of.command("x", "").unwrap(), of.sql("x"));
        assert_eq!(
            time(&fit(&days, false)),
            (
                "\\set x random(1709251200, 1710806400)".to_owned(),
                "strftime('%Y-%m-%d', :x, 'unixepoch')".to_owned()
            )
        );
        let stamp = |it: u32| json!(format!("2024-03-01T00:00:{it:02}.{it:06}+00:00"));
        let stamps: Vec<Json> = (10..30).map(stamp).collect();
        let (command, sql) = time(&fit(&stamps, true));
        assert_eq!(command, "\\set x random(1709251210, 1709251229)");
        assert!(sql.starts_with("strftime('%Y-%m-%dT%H:%M:%S', :x, 'unixepoch') || '.0000"));
        let mixed = [&days[..], &stamps].concat();
        assert_eq!(fit(&mixed, false), Fit::Text(10, 32));
        let documents: Vec<Json> = (0..20).map(|it| json!(format!("{{\"n\":{it}}}"))).collect();
        assert_eq!(fit(&documents, false), Fit::Document(0, 0));
        assert!(fit(&documents, false).sql("x").starts_with("json_object('v', substr("));
        assert_eq!(fit(&[json!({"hex": "00ff"})], false), Fit::Blob(2, 2));
        let hashed = json!({"text_hash": "0", "length": 12});
        assert_eq!(fit(&[hashed], false), Fit::Text(12, 12));
        assert_eq!(fit(&[], false), Fit::Constant("NULL".into()));
    }

    #[test]
    fn ends_of_ranges_are_drawn_beside_their_begins() {
        let stamp = |it: i64| json!(format!("2024-03-{:02} 0{}:00:00", 1 + it % 20, it % 9));
        for (value, far) in [(&(|it| json!(it)) as &dyn Fn(i64) -> Json, 3_i64), (&stamp, 0)] {
            let (mut begin, mut end) = (Values::default(), Values::default());
            for it in 1..40 {
                let (from, to) = (value(it * 100), value(it * 100 + far));
                begin.add(&from);
                end.add(&to);
                end.add_beside(&to, &from);
            }
            let (begin, own) = (begin.fit(false), end.fit(false));
            let beside = end.fit_of_ends(&begin, &own).unwrap();
            assert_eq!(beside.command("v2", "v1").unwrap(), format!("\\set v2 :v1 + {far}"));
            assert_eq!(beside.sql("v2"), own.sql("v2"));
            assert_eq!(end.fit_of_ends(&Fit::Constant("1".into()), &own), None);
            let drawn = |are_numbers| {
                let column = ("t".to_owned(), "a".to_owned());
                let drawn = Fit::Drawn { column, zipf: None, are_numbers };
                end.fit_of_ends(&drawn, &own).is_some()
            };
            assert_eq!((drawn(true), drawn(false)), (far > 0, false), "texts have no sums");
        }
    }

    #[test]
    fn texts_that_come_again_and_again_are_kept() {
        let of = |distinct: u64, times: u64| {
            let mut values = Values::default();
            (0..distinct * times).for_each(|n| values.add(&json!(format!("x{}", n % distinct))));
            values.repeated().map(|texts| texts.map(|(_, count)| count).sum::<u64>())
        };
        assert_eq!(of(20, 2), Some(40));
        assert_eq!((of(20, 1), of(8, 9), of(1_001, 2)), (None, None, None));
    }

    #[test]
    fn inserted_numbers_that_are_all_different_are_new_ones() {
        let keys: Vec<Json> = (100..130).map(Json::from).collect();
        assert_eq!(fit(&keys, true), Fit::New(129));
        assert_eq!(fit(&keys, false), Fit::Uniform(100, 129));
    }

    fn fitted(domain: i64, count: usize, mut draw: impl FnMut(&mut Prng) -> i64) -> Option<f64> {
        let (mut prng, mut counts) = (Prng::new(7), Counts::default());
        (0..count).for_each(|_| counts.add(draw(&mut prng)));
        counts.zipf(domain as u64)
    }

    #[test]
    fn the_parameter_of_zipfian_values_is_recovered() {
        for parameter in [1.05, 1.5, 2.5] {
            let fit = fitted(10_000, 20_000, |it| it.zipfian(1, 10_000, parameter).unwrap());
            let fit = fit.unwrap();
            assert!((fit - parameter).abs() < 0.1, "{parameter}: {fit}");
        }
    }

    #[test]
    fn uniform_values_have_no_such_law() {
        for (domain, count) in [(10, 1_000), (1_000, 20_000), (1_000_000, 500)] {
            let fit = fitted(domain, count, |it| 1 + it.up_to(domain as u64 - 1) as i64);
            assert_eq!(fit, None, "{count} of {domain}");
        }
    }

    #[test]
    fn the_sum_is_that_of_its_terms() {
        let exact: f64 = (1..=100_000).map(|rank| f64::from(rank).powf(-1.2)).sum();
        assert!((harmonic(100_000, 1.2) / exact - 1.0).abs() < 1e-6);
    }
}
