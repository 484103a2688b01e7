//! From the text of a file to scripts.

use std::collections::BTreeSet;

use crate::error::{Mistake, ScriptError};
use crate::expression::Expression;
use crate::script::meta::{self, Meta};
use crate::script::{Draw, Need, Op, Script, Statement};
use crate::sql::{self, End, Kind};
use crate::variables::{Names, PREDEFINED, Slot, Value};

/// The form of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Named queries where it has names; otherwise one transaction, as a script of pgbench.
    Transaction,
    /// Named queries where it has names, one transaction where it has meta commands, otherwise statements that are
    /// a transaction each.
    Statements,
}

/// Reads the text of a file. Its scripts are called `title`, or as the text names its queries.
///
/// # Errors
/// The first mistake, with its file and line.
pub fn parse(
    file: &str,
    title: &str,
    text: &str,
    form: Form,
    names: &mut Names,
) -> Result<Vec<Script>, ScriptError> {
    let mut reader = Reader::new(file, title, text, names);
    reader.read()?;
    reader.finish(form)
}

/// Reads a text item by item.
struct Reader<'a> {
    file: &'a str,
    title: &'a str,
    text: &'a str,
    lines: Lines,
    names: &'a mut Names,
    position: usize,
    scripts: Vec<Draft>,
    has_meta: bool,
}

/// A script under construction.
struct Draft {
    name: Option<String>,
    line: usize,
    script: Script,
    /// The open `\if`s.
    branches: Vec<Branch>,
    set: BTreeSet<Slot>,
}

/// An open `\if`.
struct Branch {
    line: usize,
    /// The jump to the next `\elif` or `\else`; `None` after an `\else`.
    next: Option<usize>,
    /// The jumps to `\endif`.
    ends: Vec<usize>,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str, title: &'a str, text: &'a str, names: &'a mut Names) -> Reader<'a> {
        Reader {
            file,
            title,
            text,
            lines: Lines::of(text),
            names,
            position: 0,
            scripts: Vec::new(),
            has_meta: false,
        }
    }

    fn line_at(&self, position: usize) -> usize {
        self.lines.at(position)
    }

    fn wrong(&self, position: usize, mistake: Mistake) -> ScriptError {
        mistake.at(self.file, self.line_at(position))
    }

    fn read(&mut self) -> Result<(), ScriptError> {
        while let Some(token) = sql::tokens(&self.text[self.position..]).next() {
            match token.kind {
                Kind::Comment => {
                    if let Some(name) = name(token.text) {
                        self.begin(Some(name.to_owned()))?;
                    } else if let Some(weight) = weight(token.text) {
                        self.weigh(weight)?;
                    }
                    self.position += token.text.len();
                }
                Kind::Space | Kind::Semicolon => self.position += token.text.len(),
                Kind::Backslash => self.meta()?,
                _ => self.statement()?,
            }
        }
        Ok(())
    }

    /// Begins a script.
    fn begin(&mut self, name: Option<String>) -> Result<(), ScriptError> {
        let twice = |draft: &Draft| name.is_some() && draft.name == name;
        if self.scripts.iter().any(twice) {
            let what = format!("the name `{}` is used twice", name.unwrap_or_default());
            return Err(self.wrong(self.position, Mistake::new(what)));
        }
        let title = name.clone().unwrap_or_else(|| self.title.to_owned());
        self.scripts.push(Draft {
            line: self.line_at(self.position),
            script: Script {
                name: title,
                file: self.file.to_owned(),
                weight: 1,
                statements: Vec::new(),
                operations: Vec::new(),
                lines: Vec::new(),
                draws: Vec::new(),
                needs: Vec::new(),
            },
            name,
            branches: Vec::new(),
            set: PREDEFINED.map(|name| self.names.slot(name)).into(),
        });
        Ok(())
    }

    /// Gives the script whose name was just read its weight. Elsewhere, and without a number, the comment is about something else.
    fn weigh(&mut self, text: &str) -> Result<(), ScriptError> {
        let named = self.scripts.last_mut();
        let named =
            named.filter(|draft| draft.name.is_some() && draft.script.statements.is_empty());
        match (named, text.parse()) {
            (Some(draft), Ok(weight)) => draft.script.weight = weight,
            (None, Ok::<u32, _>(_)) => {
                let why =
                    "a weight belongs between the name of a query (`-- name: …`) and its statement";
                return Err(self.wrong(self.position, Mistake::new(why.to_owned())));
            }
            (Some(_), Err(_)) => {
                let why = format!("the weight `{text}` must be a whole number from 0");
                return Err(self.wrong(self.position, Mistake::new(why)));
            }
            (None, Err(_)) => {}
        }
        Ok(())
    }

    /// Returns the script that is being read.
    fn current(&mut self) -> Result<&mut Draft, ScriptError> {
        if self.scripts.is_empty() {
            self.begin(None)?;
        }
        let last = self.scripts.len() - 1;
        Ok(&mut self.scripts[last])
    }

    /// Returns the text of a command from its backslash to the end of the line; a backslash at the end continues it.
    fn command(&self) -> (String, usize) {
        let mut command = String::new();
        let mut end = self.position + 1;
        for line in self.text[end..].split_inclusive('\n') {
            end += line.len();
            match line.trim_end().strip_suffix('\\') {
                Some(continued) => command.push_str(continued),
                None => {
                    command.push_str(line);
                    break;
                }
            }
            command.push(' ');
        }
        (command, end)
    }

    fn meta(&mut self) -> Result<(), ScriptError> {
        self.has_meta = true;
        let start = self.position;
        let line = self.line_at(start);
        let (command, end) = self.command();
        let mut used = Vec::new();
        let meta = meta::read(&command, self.names, &mut used);
        let meta = meta.map_err(|mistake| self.wrong(start, mistake))?;
        for slot in used {
            self.need(slot, line)?;
        }
        let slot = match &meta {
            Meta::Set(name, _) | Meta::Draw(name, ..) => Some(self.names.slot(name)),
            _ => None,
        };
        let draft = self.current()?;
        draft.set.extend(slot);
        draft.add(meta, slot, line).map_err(|mistake| self.wrong(start, mistake))?;
        self.position = end;
        Ok(())
    }

    /// Notes a variable that an expression uses.
    fn need(&mut self, slot: Slot, line: usize) -> Result<(), ScriptError> {
        let name = self.names.name(slot).to_owned();
        let draft = self.current()?;
        draft.need(Need { slot, name: format!(":{name}"), line, hint: None });
        Ok(())
    }

    fn statement(&mut self) -> Result<(), ScriptError> {
        let start = self.position;
        let rest = &self.text[start..];
        let (length, gset) = match sql::statement(rest) {
            End::Semicolon(end) => (end, None),
            End::Text => (rest.len(), None),
            End::Backslash(end) => (end, Some(self.gset(start + end)?)),
            End::OpenQuote(at) => {
                let mistake = Mistake::new("a quoted text that begins here has no end");
                return Err(self.wrong(start + at, mistake));
            }
        };
        let text = rest[..length].trim_end().trim_end_matches(';').trim_end();
        self.add_statement(text, start, gset.as_ref().map(|(prefix, _)| prefix.clone()))?;
        self.position = gset.map_or(start + length, |(_, end)| end);
        Ok(())
    }

    /// Returns the `\gset` at a backslash within a statement: what it puts ahead of names, and where it ends.
    fn gset(&mut self, backslash: usize) -> Result<(String, usize), ScriptError> {
        let start = std::mem::replace(&mut self.position, backslash);
        let (command, end) = self.command();
        self.position = start;
        match meta::read(&command, self.names, &mut Vec::new()) {
            Ok(Meta::Gset(prefix)) => Ok((prefix, end)),
            Ok(_) => {
                let mistake = "the statement ahead of this meta command has no semicolon";
                Err(self.wrong(backslash, Mistake::new(mistake)))
            }
            Err(mistake) => Err(self.wrong(backslash, mistake)),
        }
    }

    fn add_statement(
        &mut self,
        text: &str,
        start: usize,
        gset: Option<String>,
    ) -> Result<(), ScriptError> {
        let line = self.line_at(start);
        let all = sql::significant(text);
        let tables = sql::tables(&all);
        let (mut parameters, mut known) = (Vec::new(), BTreeSet::new());
        for sql::Parameter { place, number, role } in sql::parameters(&all) {
            let parameter = match all[place].text {
                "?" => format!("?{number}"),
                named => named.to_owned(),
            };
            if !known.insert(parameter.clone()) {
                continue;
            }
            let slot = self.slot_of(&parameter)?;
            let line = self.line_at(start + all[place].start);
            let hint = role.and_then(|role| sql::hint(&tables, role));
            self.current()?.need(Need { slot, name: parameter.clone(), line, hint });
            parameters.push((parameter, slot));
        }
        let draft = self.current()?;
        draft.run(text, line, parameters, gset, sql::is_volatile(&all));
        Ok(())
    }

    /// Returns the variable of a parameter: the name behind its sign; a number is a variable of its query alone.
    fn slot_of(&mut self, parameter: &str) -> Result<Slot, ScriptError> {
        if !parameter.starts_with('?') {
            return Ok(self.names.slot(&parameter[1..]));
        }
        let script = self.scripts.len();
        let name = format!("{}:{script}{parameter}", self.title);
        self.current()?;
        Ok(self.names.slot(&name))
    }

    fn finish(self, form: Form) -> Result<Vec<Script>, ScriptError> {
        let is_named = self.scripts.iter().any(|draft| draft.name.is_some());
        let split = form == Form::Statements && !is_named && !self.has_meta;
        let mut scripts = Vec::new();
        for draft in self.scripts {
            if let Some(open) = draft.branches.first() {
                return Err(Mistake::new("this \\if has no \\endif").at(self.file, open.line));
            }
            match (draft.script.statements.is_empty(), draft.name) {
                (true, Some(name)) => {
                    let mistake = Mistake::new(format!("the query `{name}` has no statement"));
                    return Err(mistake.at(self.file, draft.line));
                }
                (true, None) => {}
                (false, _) if split => scripts.extend(split_up(draft.script)),
                (false, _) => scripts.push(draft.script),
            }
        }
        if scripts.is_empty() {
            Err(Mistake::new("no SQL statement").at(self.file, 1))
        } else {
            Ok(scripts)
        }
    }
}

/// Returns a script of each statement.
fn split_up(script: Script) -> Vec<Script> {
    let several = script.statements.len() > 1;
    let of = |statement: Statement| {
        let needs = script.needs.iter();
        let own = |need: &&Need| statement.parameters.iter().any(|(_, slot)| *slot == need.slot);
        let name = if several { &statement.name } else { &script.name };
        Script {
            name: name.clone(),
            file: script.file.clone(),
            weight: script.weight,
            operations: vec![Op::Run(0)],
            lines: vec![statement.line],
            draws: Vec::new(),
            needs: needs.filter(own).cloned().collect(),
            statements: vec![Statement { name: name.clone(), ..statement }],
        }
    };
    script.statements.iter().cloned().map(of).collect()
}

impl Draft {
    fn need(&mut self, need: Need) {
        let known = self.script.needs.iter().any(|known| known.slot == need.slot);
        if !known && !self.set.contains(&need.slot) {
            self.script.needs.push(need);
        }
    }

    fn push(&mut self, operation: Op, line: usize) {
        self.script.operations.push(operation);
        self.script.lines.push(line);
    }

    fn run(
        &mut self,
        text: &str,
        line: usize,
        parameters: Vec<(String, Slot)>,
        gset: Option<String>,
        volatile: bool,
    ) {
        let of_line = self.script.statements.iter().filter(|known| known.line == line).count();
        let name = match (&self.name, self.script.statements.len()) {
            (Some(name), 0) => name.clone(),
            // Lines move when others are added.
            (Some(name), before) => format!("{name}.{}", before + 1),
            _ if of_line > 0 => format!("{}:{line}.{}", self.script.name, of_line + 1),
            _ => format!("{}:{line}", self.script.name),
        };
        self.push(Op::Run(self.script.statements.len()), line);
        self.script.statements.push(Statement {
            name,
            line,
            sql: text.to_owned(),
            parameters,
            gset,
            volatile,
        });
    }

    /// Adds a meta command.
    fn add(&mut self, meta: Meta, slot: Option<Slot>, line: usize) -> Result<(), Mistake> {
        match (meta, slot) {
            (Meta::Set(_, value), Some(slot)) => self.push(Op::Set(slot, value), line),
            (Meta::Draw(_, table, column, popularity), Some(slot)) => {
                self.script.draws.push(Draw { slot, table, column, popularity, line });
            }
            (Meta::Sleep(time, micros), _) => self.push(Op::Sleep(time, micros), line),
            (Meta::If(condition), _) => {
                self.branches.push(Branch {
                    line,
                    next: Some(self.script.operations.len()),
                    ends: Vec::new(),
                });
                self.push(Op::Unless(condition, 0), line);
            }
            (Meta::Elif(condition), _) => {
                self.other_branch("elif", line)?;
                self.open_branch("elif")?.next = Some(self.script.operations.len());
                self.push(Op::Unless(condition, 0), line);
            }
            (Meta::Else, _) => self.other_branch("else", line)?,
            (Meta::Endif, _) => self.end_branch()?,
            _ => return Err(Mistake::new("\\gset has no statement ahead of it")),
        }
        Ok(())
    }

    fn open_branch(&mut self, command: &str) -> Result<&mut Branch, Mistake> {
        let missing = || Mistake::new(format!("\\{command} without \\if"));
        self.branches.last_mut().ok_or_else(missing)
    }

    /// Ends the branch above, and has its condition jump here.
    fn other_branch(&mut self, command: &str, line: usize) -> Result<(), Mistake> {
        let go = self.script.operations.len();
        let branch = self.open_branch(command)?;
        let after_else = || Mistake::new(format!("\\{command} after \\else"));
        let next = branch.next.take().ok_or_else(after_else)?;
        branch.ends.push(go);
        self.push(Op::Go(0), line);
        self.jump(next, go + 1);
        Ok(())
    }

    fn end_branch(&mut self) -> Result<(), Mistake> {
        self.open_branch("endif")?;
        let here = self.script.operations.len();
        let ended = self.branches.pop();
        let jumps = ended.into_iter().flat_map(|end| end.ends.into_iter().chain(end.next));
        for jump in jumps.collect::<Vec<_>>() {
            self.jump(jump, here);
        }
        Ok(())
    }

    /// Has the jump at one operation lead to another.
    fn jump(&mut self, from: usize, to: usize) {
        let placeholder = Op::Unless(Expression::constant(Value::Null), 0);
        let jump = std::mem::replace(&mut self.script.operations[from], placeholder);
        self.script.operations[from] = match jump {
            Op::Unless(condition, _) => Op::Unless(condition, to),
            _ => Op::Go(to),
        };
    }
}

/// Where the lines of a text end.
pub(super) struct Lines(Vec<usize>);

impl Lines {
    pub(super) fn of(text: &str) -> Lines {
        let ends = text.match_indices('\n').map(|(position, _)| position);
        Lines(ends.collect())
    }

    /// Returns the line of a position, from 1.
    pub(super) fn at(&self, position: usize) -> usize {
        1 + self.0.partition_point(|end| *end < position)
    }
}

/// Suffixes of names in aiosql, which tell what the query returns.
const SUFFIXES: [&str; 7] = ["*!", "<!", "^", "!", "$", "#", "*"];

/// Returns the name of a query in a comment.
pub(super) fn name(comment: &str) -> Option<&str> {
    let text = comment.strip_prefix("--")?.trim_start();
    let text = text.strip_prefix("name:").or_else(|| text.strip_prefix(":name "))?;
    let word = text.split_whitespace().next()?;
    let name = SUFFIXES.iter().find_map(|suffix| word.strip_suffix(suffix)).unwrap_or(word);
    // aiosql writes the parameters of a query behind its name.
    let name = name.split('(').next().unwrap_or(name);
    (!name.is_empty()).then_some(name)
}

/// Returns the weight of a query that a comment gives: `-- weight: 20`.
fn weight(comment: &str) -> Option<&str> {
    comment.strip_prefix("--")?.trim_start().strip_prefix("weight:").map(str::trim)
}

#[cfg(test)]
mod tests;
