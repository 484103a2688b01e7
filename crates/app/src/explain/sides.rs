//! Plans of the same statements side by side: on several databases, with several engines, without and with statistics.

use ::explain::observe::{Node, Observation};
use ::explain::{Query, Subject};
use engine::{EngineError, Source};
use lab::comparison::{AnswerChange, DifferingRows, normalised};
use lab::trial::StatementRecord;
use report::differing_rows;
use report::document::{
    Block, Cell, Code, Column, Document, Item, Kind, Row, Section, Sentence, Table, Tone,
};
use report::figures::percent;

use super::copies::{Copies, Copy};
use super::difference::{changes, pairs, sentence};
use super::document::{remarks, values};
use super::{
    ExplainRequest, LeftOut, Statement, heading, in_statement, of_engine, refuse_unknown, title,
    unless_left_out, with_values,
};
use crate::engine::BUILT_IN;
use crate::error::Error;
use crate::interface::Interface;
use crate::measure::{Vary, short_name};
use crate::trace::time;
use crate::words::grouped;

/// A count that changes by less than this part is not marked.
const CHANGE: f64 = 0.1;

/// The statistics of the planner on a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statistics {
    /// Those of the database.
    Found,
    /// None.
    Removed,
    /// New ones.
    Collected,
}

/// A side of the comparison.
#[derive(Clone, Debug)]
struct Side {
    /// The names of the database, the engine and the statistics, where these tell it from others.
    names: [Option<String>; 3],
    database: usize,
    engine: String,
    statistics: Statistics,
    /// The version of the engine, once it is loaded.
    version: String,
}

impl Side {
    fn name(&self) -> String {
        self.names.iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ")
    }
}

/// A statement on a side.
struct Seen {
    observation: Observation,
    /// Its answers in two executions; none if it was stopped.
    answers: Vec<StatementRecord>,
}

/// The difference between a statement on a side and on the first one.
struct Change {
    plan: Vec<String>,
    /// The steps of both, if both came to their ends.
    steps: Option<(i64, i64)>,
    answer: AnswerChange,
    /// The rows that differ.
    rows: Option<DifferingRows>,
}

/// A statement with its values, and for each side its observation or the error.
struct Compared {
    query: Query,
    parameters: Vec<super::Parameter>,
    sides: Vec<Result<Seen, String>>,
}

/// Executes the statements on all sides, and shows how they differ from the first one. The copy is of the first database.
pub(super) fn compared(
    request: &ExplainRequest,
    (copies, copy): (&Copies, &Copy),
    (statements, left_out): (Vec<Statement>, &mut LeftOut),
    are_several: bool,
    ui: &dyn Interface,
) -> Result<Document, Error> {
    let mut sides = sides(request)?;
    let subject = copy.open(&Source::Explaining, request.needs()).map_err(of_engine)?;
    refuse_unknown(&request.values, &subject, &statements)?;
    let mut all = Vec::new();
    for statement in statements {
        let name = statement.name.clone();
        let valued = with_values(&subject, statement, &request.values);
        let valued = unless_left_out(valued, name, are_several, left_out)?;
        all.extend(valued.map(|(query, parameters)| Compared {
            query,
            parameters,
            sides: Vec::new(),
        }));
    }
    drop(subject);
    for side in &mut sides {
        let own = match (side.database, side.statistics) {
            (0, Statistics::Found) => copy.clone(),
            (0, _) => copies.again(copy, request.databases.first())?,
            (database, _) => copies.of(&request.databases[database])?,
        };
        for (name, error) in observe(request, side, &own, &mut all, ui)? {
            unless_left_out::<()>(Err(error), name, are_several, left_out)?;
        }
    }
    Ok(document(&title(request), &sides, &all, left_out))
}

/// Returns the sides: the first level of everything that is compared, then one change at a time.
fn sides(request: &ExplainRequest) -> Result<Vec<Side>, Error> {
    let levels = |name: &str| request.vary.iter().find(|vary| vary.name == name);
    if let Some(Vary { name, .. }) =
        request.vary.iter().find(|vary| !["engine", "analyze"].contains(&vary.name.as_str()))
    {
        let message = format!("--vary {name}: `explain` compares engine=… and analyze=…");
        return Err(Error::mistake(message)
            .hint("`pragmark measure --vary` compares the values of settings"));
    }
    let paths: Vec<String> =
        request.databases.iter().map(|path| path.display().to_string()).collect();
    let databases =
        paths.iter().enumerate().map(|(number, path)| (number, short_name(path, &paths)));
    let databases: Vec<(usize, String)> = databases.collect();
    let engines = levels("engine").map_or(&[][..], |vary| &vary.values);
    let statistics = levels("analyze").map_or(&[][..], |vary| &vary.values);
    let statistics: Vec<(Statistics, String)> =
        statistics.iter().map(|level| statistics_of(level)).collect::<Result<_, Error>>()?;
    let several = |names: Vec<&String>| names.first().filter(|_| names.len() > 1).cloned().cloned();
    let firsts = [
        several(databases.iter().map(|(_, name)| name).collect()),
        several(engines.iter().collect()),
        several(statistics.iter().map(|(_, name)| name).collect()),
    ];
    let baseline = Side {
        names: firsts,
        database: 0,
        engine: engines.first().cloned().unwrap_or_else(|| BUILT_IN.to_owned()),
        statistics: statistics.first().map_or(Statistics::Found, |(statistics, _)| *statistics),
        version: String::new(),
    };
    let mut sides = vec![baseline.clone()];
    for (database, name) in databases.into_iter().skip(1) {
        sides.push(Side { database, names: [Some(name), None, None], ..baseline.clone() });
    }
    for engine in engines.iter().skip(1).cloned() {
        let names = [None, Some(engine.clone()), None];
        sides.push(Side { engine, names, ..baseline.clone() });
    }
    for (statistics, name) in statistics.into_iter().skip(1) {
        sides.push(Side { statistics, names: [None, None, Some(name)], ..baseline.clone() });
    }
    Ok(sides)
}

fn statistics_of(level: &str) -> Result<(Statistics, String), Error> {
    let (statistics, name) = match level {
        "false" | "off" => (Statistics::Found, "statistics as they are"),
        "true" | "on" => (Statistics::Collected, "ANALYZE"),
        "none" => (Statistics::Removed, "no statistics"),
        _ => {
            return Err(Error::mistake(format!("analyze={level} is unknown")).hint(
                "false leaves the statistics as they are, true collects new ones, none removes them",
            ));
        }
    };
    Ok((statistics, name.to_owned()))
}

/// Executes all statements on a side, and adds the version of its engine to its name. Returns those that fail on the first side, which are
/// not compared, with their errors.
fn observe(
    request: &ExplainRequest,
    side: &mut Side,
    copy: &Copy,
    all: &mut Vec<Compared>,
    ui: &dyn Interface,
) -> Result<Vec<(String, Error)>, Error> {
    let source = match side.engine.as_str() {
        BUILT_IN => Source::Explaining,
        other => crate::engine::source(other, ui)?,
    };
    let subject = copy.open(&source, request.needs()).map_err(of_engine)?;
    let identity = subject.library().identity();
    let has_samples = identity.compile_options.iter().any(|option| option == "ENABLE_STAT4");
    prepare(&subject, side.statistics).map_err(of_engine)?;
    side.version.clone_from(&identity.version);
    let [_, engine, statistics] = &mut side.names;
    if let Some(name) = engine.as_mut().filter(|name| !name.contains(&identity.version)) {
        *name = format!("{name} {}", identity.version);
    }
    if let Some(name) = statistics.as_mut()
        && side.statistics == Statistics::Collected
        && has_samples
    {
        name.push_str(" with STAT4");
    }
    let mut failed = Vec::new();
    all.retain_mut(|compared| {
        let seen = match seen(&subject, &compared.query) {
            Ok(seen) => Ok(seen),
            // An error of one side is a difference.
            Err(error) if !compared.sides.is_empty() && error.as_sqlite().is_some() => {
                Err(error.to_string())
            }
            Err(error) => {
                let name = &compared.query.name;
                failed.push((name.clone(), in_statement(name, error)));
                return false;
            }
        };
        compared.sides.push(seen);
        true
    });
    Ok(failed)
}

/// Gives the copy of a side its statistics.
fn prepare(subject: &Subject, statistics: Statistics) -> Result<(), EngineError> {
    let connection = subject.connect()?;
    match statistics {
        Statistics::Found => Ok(()),
        Statistics::Collected => connection.execute("ANALYZE"),
        Statistics::Removed => {
            let tables =
                "SELECT name FROM sqlite_schema WHERE name IN ('sqlite_stat1', 'sqlite_stat4')";
            for row in connection.query_all(tables)? {
                connection.execute(&format!("DELETE FROM {}", row[0]))?;
            }
            Ok(())
        }
    }
}

fn seen(subject: &Subject, query: &Query) -> Result<Seen, EngineError> {
    let observation = subject.observe(query)?;
    let answer = |_| {
        let (answer, rows) = subject.execute_by(query, |connection, statement| {
            bench::answer_of(connection, statement, &query.sql)
        })?;
        let (name, sql) = (query.name.clone(), query.sql.clone());
        Ok(StatementRecord { name, sql, answer: Some(answer), rows, ..StatementRecord::default() })
    };
    // The first side repeats its own answer, or it is not compared.
    let executions = if observation.is_partial { 0..0 } else { 0..2 };
    let answers = executions.map(answer).collect::<Result<_, EngineError>>()?;
    Ok(Seen { observation, answers })
}

fn document(of: &str, sides: &[Side], all: &[Compared], left_out: &LeftOut) -> Document {
    let is_equal = |compared: &&Compared| {
        let is_same = |change: Result<Change, &String>| {
            change.is_ok_and(|it| it.plan.is_empty() && it.answer == AnswerChange::Same)
        };
        all.len() > 1 && changes_of(sides, compared).all(|(_, change)| is_same(change))
    };
    let (equal, different): (Vec<&Compared>, Vec<&Compared>) = all.iter().partition(is_equal);
    let sections = different.iter().enumerate().map(|(number, compared)| {
        let title = if all.len() == 1 { "What changes" } else { &compared.query.name };
        let blocks = blocks(sides, compared);
        Section::new(&format!("statement-{}", number + 1), Kind::Chapter, title, blocks)
    });
    let equal = equal.iter().flat_map(|compared| {
        let said = sentences(sides, compared).into_iter();
        said.map(|said| Item::new(Sentence::code(&compared.query.name).words(format!(": {said}"))))
    });
    let equal = Block::list(equal).into_iter().collect();
    let equal = Section::chapter("equal", "The same plan and the same answer", equal);
    let left_out = left_out.why.iter();
    let left_out = left_out.map(|(name, why)| Item::doubt(None, format!("{name}: {why}")));
    let left_out = Block::list(left_out).into_iter().collect();
    let left_out = Section::chapter("left-out", "Statements that were left out", left_out);
    let names: Vec<String> = sides.iter().map(Side::name).collect();
    let mut about =
        vec![Sentence::from("Executed on copies, first with an empty cache; writes are undone.")];
    if !is_timed(sides) {
        about.push("Times are left out: the engine that counts loops is slower for that.".into());
    }
    Document {
        title: match all {
            [only] => format!("{} on {of}: {}", heading(&only.query.name), names.join(" | ")),
            several => format!("{} statements on {of}: {}", several.len(), names.join(" | ")),
        },
        about,
        sections: sections.chain(equal).chain(left_out).collect(),
        ..Document::default()
    }
}

/// Returns whether the sides have the same engine, so that their times can be compared.
fn is_timed(sides: &[Side]) -> bool {
    sides.iter().all(|side| side.engine == sides[0].engine)
}

fn blocks(sides: &[Side], compared: &Compared) -> Vec<Block> {
    let Some(Ok(base)) = compared.sides.first() else { return Vec::new() };
    let said = sentences(sides, compared).into_iter();
    let mut blocks: Vec<Block> =
        said.map(|said| Block::paragraph(Sentence::marked(&said))).collect();
    blocks.push(Block::Code(Code { language: "sql", text: compared.query.sql.clone() }));
    blocks.extend(values(&compared.query, &compared.parameters));
    let rows = changes_of(sides, compared);
    let rows = rows.filter_map(|(side, change)| Some((side.name(), change.ok()?.rows?)));
    let rows: Vec<(String, DifferingRows)> = rows.collect();
    blocks.extend(differing_rows(rows.iter().map(|(side, rows)| (side.clone(), rows))));
    blocks.push(totals(sides, compared));
    for (side, other) in sides.iter().zip(&compared.sides).skip(1) {
        if let Ok(other) = other {
            blocks.extend(both_plans((&sides[0], base), (side, other)));
        }
    }
    for (side, seen) in sides.iter().zip(&compared.sides) {
        let remarks = seen.iter().flat_map(|seen| remarks(&seen.observation));
        blocks.extend(remarks.map(|remark| Block::small(format!("{}: {remark}", side.name()))));
    }
    blocks
}

/// Returns the differences of each side but the first, or the error there.
fn changes_of<'a>(
    sides: &'a [Side],
    compared: &'a Compared,
) -> impl Iterator<Item = (&'a Side, Result<Change, &'a String>)> {
    let base = compared.sides.first().and_then(|seen| seen.as_ref().ok());
    let others = sides.iter().zip(&compared.sides).skip(1);
    others.filter_map(move |(side, other)| {
        let base = base?;
        let change = |other| change((&sides[0], base), (side, other));
        Some((side, other.as_ref().map(change)))
    })
}

fn change((side, base): (&Side, &Seen), (other_side, other): (&Side, &Seen)) -> Change {
    let [one, two] = [base, other].map(|seen| seen.answers.iter().collect::<Vec<_>>());
    let answer = AnswerChange::between(&one, &two, [&side.version, &other_side.version]);
    let rows = || DifferingRows::between(&one.first()?.rows, &two.first()?.rows);
    Change {
        plan: changes(&plan(base), &plan(other)),
        steps: steps(base).zip(steps(other)),
        rows: answer.difference().and_then(|_| rows()),
        answer,
    }
}

/// Returns the differences in words.
fn sentences(sides: &[Side], compared: &Compared) -> Vec<String> {
    let sentence = |(side, change): (&Side, Result<Change, &String>)| match change {
        Ok(change) => {
            let said = sentence(&change.plan, &side.name(), change.steps);
            format!("{said} {}", answer(&change.answer))
        }
        Err(why) => format!("With {}, it fails: {why}.", side.name()),
    };
    changes_of(sides, compared).map(sentence).collect()
}

fn plan(seen: &Seen) -> Vec<String> {
    seen.observation.nodes.iter().map(|node| node.detail.clone()).collect()
}

/// Returns the steps of an execution that came to its end.
fn steps(seen: &Seen) -> Option<i64> {
    (!seen.observation.is_partial).then_some(seen.observation.cost.steps)
}

fn answer(change: &AnswerChange) -> String {
    match change {
        AnswerChange::Same => "The answer is the same.".to_owned(),
        AnswerChange::SameNumber => {
            "As many rows; their content depends on chance or on the time.".to_owned()
        }
        AnswerChange::Open { what } => format!("The answer differs; {what}."),
        AnswerChange::Other { words, .. } => format!("The answer differs: {words}."),
        AnswerChange::NotCompared { why } => {
            format!("The answers are not compared, because {why}.")
        }
    }
}

/// Returns a count, marked if it is far from the count of the first side.
fn count(value: Option<i64>, base: Option<i64>) -> Cell {
    let cell = Cell::figure(value.map(|value| value as f64), |value| grouped(value as u64));
    let (Some(value), Some(base)) = (value, base) else { return cell };
    let change = (value - base) as f64 / base.max(1) as f64;
    match change {
        change if change > CHANGE => cell.signed(("▲", Tone::Worse)),
        change if change < -CHANGE => cell.signed(("▼", Tone::Better)),
        _ => cell,
    }
}

/// Returns the counts of all sides.
fn totals(sides: &[Side], compared: &Compared) -> Block {
    let base = compared.sides.first().and_then(|seen| seen.as_ref().ok());
    let rows = sides.iter().zip(&compared.sides).map(|(side, seen)| {
        let seen = seen.as_ref().ok();
        let figure = |of: &dyn Fn(&Observation) -> i64| {
            count(seen.map(|seen| of(&seen.observation)), base.map(|seen| of(&seen.observation)))
        };
        let timed = seen.map(|seen| seen.observation.time.as_nanos() as f64);
        Row::new([
            Cell::new(side.name()),
            if is_timed(sides) { Cell::figure(timed, time) } else { Cell::default() },
            Cell::figure(seen.map(|seen| seen.observation.rows as f64), |rows| {
                grouped(rows as u64)
            }),
            figure(&|seen| seen.cost.steps),
            figure(&|seen| seen.cost.pages),
            figure(&|seen| seen.pages.iter().map(|(_, count)| *count as i64).sum()),
        ])
    });
    let columns = [
        Column::left(""),
        Column::right("time"),
        Column::right("rows"),
        Column::right("steps"),
        Column::right("pages asked for"),
        Column::right("pages from the file"),
    ];
    Block::table(Table::new("work on each side", columns, rows))
}

/// Returns two plans side by side, node by node, with a sign where they differ; none for a statement without a plan, such as
/// an INSERT of values. A narrow window has them below one another.
fn both_plans((side, base): (&Side, &Seen), (other_side, other): (&Side, &Seen)) -> Option<Block> {
    let (one, two) = (normalised(&plan(base)), normalised(&plan(other)));
    let (nodes, others) = (&base.observation.nodes, &other.observation.nodes);
    let name = |node: Option<&Node>| match node {
        Some(node) => Cell::code(format!("{}{}", "\u{a0}\u{a0}".repeat(node.depth), node.detail)),
        None => Cell::default(),
    };
    let figures = |node: Option<&Node>, base: Option<&Node>| match node {
        Some(node) => [
            Cell::figure(node.share, percent),
            count(node.visited, base.and_then(|base| base.visited)),
        ],
        None => [Cell::default(), Cell::default()],
    };
    let rows = pairs(&one, &two).into_iter().map(|(a, b)| {
        let is_same = a.map(|a| &one[a]) == b.map(|b| &two[b]);
        let (a, b) = (a.map(|a| &nodes[a]), b.map(|b| &others[b]));
        let mark = if is_same { Cell::default() } else { Cell::new("≠") };
        let cells = [
            vec![mark],
            figures(a, None).into(),
            vec![name(a)],
            figures(b, a).into(),
            vec![name(b)],
        ];
        Row::new(cells.concat())
    });
    // Figures stand before the plans, so that the names of one side do not belong to the other's figures.
    let columns = [
        Column::left(""),
        Column::right("time").full_only(),
        Column::right("rows read"),
        Column::left(format!("plan with {}", side.name())),
        Column::right("time").full_only(),
        Column::right("rows read"),
        Column::left(format!("plan with {}", other_side.name())),
    ];
    let table = Table::new("both plans", columns, rows);
    (!table.rows.is_empty()).then(|| Block::table(table.dense()))
}
