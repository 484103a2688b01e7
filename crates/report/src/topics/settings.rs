//! The settings to use, in sentences and ready to paste: a rung for each loss that a reader may accept.

use lab::analysis::{Advice, ExperimentAnalysis, Gain, Ladder, Rung, Withheld};
use lab::level::Level;
use lab::tier::MayLose;
use tuning::Analysis;

use super::hints::{finer, longer, more_rounds, too_noisy};
use super::subject::Subject;
use crate::document::{Block, Sentence, blocks};
use crate::figures;
use crate::glossary::explained;
use crate::names::Names;
use crate::settings::{BadValue, Binding, Chosen, comment, once};
use crate::words::{gain_words, tier_words};

/// Which settings are wanted.
#[derive(Clone, Debug)]
pub struct SettingsQuery {
    /// The key of an experiment; otherwise all.
    pub experiment: Option<String>,
    /// The form for one binding; otherwise every form.
    pub binding: Option<Binding>,
    /// The accepted loss.
    pub may_lose: MayLose,
}

/// Returns the settings to use as plain text. For one binding, everything else is in comments, so that
/// the whole can be pasted. The next rung that accepts recent losses is named in a comment.
pub fn settings_to_use(analysis: &Analysis, query: &SettingsQuery) -> String {
    let ladders = analysis.ladders.iter().filter(|ladder| {
        let key = query.experiment.as_ref();
        key.is_none_or(|key| *key == ladder.experiment)
    });
    ladders.filter_map(|ladder| text_of(analysis, ladder, query)).collect::<Vec<_>>().join("\n")
}

/// The settings of one experiment as plain text.
fn text_of(analysis: &Analysis, ladder: &Ladder, query: &SettingsQuery) -> Option<String> {
    let mark = mark_of(query.binding);
    let mut experiments = analysis.experiments.iter();
    let experiment = experiments.find(|experiment| experiment.key == ladder.experiment)?;
    let names = Names::of(experiment);
    let line = |rung: &Rung| comment(mark, &sentence(rung, experiment, &names, None).plain());
    let rung = ladder.rung(query.may_lose)?;
    let question = format!("{}: {}", experiment.key, experiment.question);
    let head = comment(mark, &question);
    let text = match &rung.advice {
        Ok(advice) => chosen(advice).map_or_else(
            |problem| comment(mark, &format!("{problem}.")),
            |chosen| body(&chosen, query.binding),
        ),
        Err(_) => String::new(),
    };
    let next = next_rung(ladder, rung).map(|next| {
        let chosen = next.advice.as_ref().ok().map(chosen);
        let pragmas = chosen.map(|all| all.map_or_else(|bad| bad.to_string(), |all| sql(&all)));
        let pragmas = pragmas.unwrap_or_default();
        let hint = format!("{pragmas} (--may-lose recent prints it)");
        format!("\n{}{}", line(next), comment(mark, &hint))
    });
    let unsafe_hint = (rung.may_lose == MayLose::Anything && rung.advice.is_ok())
        .then(|| comment(mark, "For data that you can afford to lose only."));
    let is_safer = rung.may_lose < query.may_lose && rung.advice.is_ok();
    let safer =
        is_safer.then(|| comment(mark, "No variant that may lose more is chosen before it."));
    let parts = [head, line(rung), [safer, unsafe_hint].into_iter().flatten().collect(), text];
    Some(parts.concat() + &next.unwrap_or_default())
}

/// The rung above, where it has advice that risks recent transactions and no more.
fn next_rung<'a>(ladder: &'a Ladder, rung: &Rung) -> Option<&'a Rung> {
    ladder.rungs.iter().find(|next| {
        next.may_lose == MayLose::Recent && rung.may_lose < next.may_lose && next.advice.is_ok()
    })
}

fn sql(chosen: &Chosen) -> String {
    let sql = chosen.pragmas().into_iter().map(|(name, value)| format!("PRAGMA {name} = {value};"));
    sql.collect::<Vec<_>>().join(" ")
}

/// Returns the mark that begins comments; an overview of all bindings is not a program.
fn mark_of(binding: Option<Binding>) -> &'static str {
    binding.map_or("#", Binding::comment_mark)
}

/// Returns the settings that are usual where nothing was measured, as [`settings_to_use`] does; none where any loss is accepted, as the
/// fastest ones depend on the machine.
pub fn usual_settings(query: &SettingsQuery) -> Option<String> {
    let (synchronous, loss) = match query.may_lose {
        MayLose::Nothing => ("full", "a power cut took no acknowledged transaction"),
        MayLose::Recent => ("normal", "a power cut took recent transactions at most"),
        MayLose::Unchanged | MayLose::Anything => return None,
    };
    let text = |level: &str| Level::Text(level.to_owned());
    let settings = [
        ("busy_timeout", Level::Int(5_000)),
        ("journal_mode", text("wal")),
        ("synchronous", text(synchronous)),
    ];
    let settings = settings.map(|(name, level)| (name.to_owned(), level)).into();
    let chosen = Chosen::of(&settings, |_| true).ok()?;
    let head = format!(
        "Nothing was measured here. With WAL, readers go on while one connection writes; in crash tests of these settings {loss}. \
         Other settings help some programs only: `pragmark tune queries.sql --db app.db` measures which."
    );
    Some(comment(mark_of(query.binding), &head) + &body(&chosen, query.binding))
}

fn body(chosen: &Chosen, binding: Option<Binding>) -> String {
    let once = once(chosen);
    match binding {
        Some(binding) => {
            let mark = binding.comment_mark();
            let remarks = remarks(binding, chosen).into_iter();
            let mut lines: Vec<String> = remarks.map(|remark| comment(mark, &remark)).collect();
            lines.extend(once.map(|once| once_in_comments(&once, mark)));
            lines.extend(chosen.remarks_on_wal().into_iter().map(|remark| comment(mark, remark)));
            lines.concat() + &binding.text(chosen)
        }
        None => {
            let section = |title: &str, text: &str| format!("\n## {title}\n\n{text}");
            let once =
                once.map(|once| section("Once for each database file, with sqlite3 app.db", &once));
            let form = |binding: &Binding| section(binding.title(), &binding.text(chosen));
            let others = Binding::ALL[Binding::SHOWN..].iter().map(|binding| binding.name());
            let others = others.collect::<Vec<_>>().join(", ");
            let others = comment(mark_of(None), &format!("With --for also: {others}"));
            let forms = Binding::ALL[..Binding::SHOWN].iter().map(form);
            once.into_iter().chain(forms).chain([format!("\n{others}")]).collect()
        }
    }
}

/// Returns the SQL that shapes the file in comments of another language.
fn once_in_comments(once: &str, mark: &str) -> String {
    let lines = once.lines().map(|line| format!("{mark}   {line}\n"));
    let head = format!("{mark} Once for each database file, with sqlite3 app.db:\n");
    head + &lines.collect::<String>()
}

/// The settings of an advice, sorted for printing.
///
/// # Errors
/// For a value that could be more than a value where it is pasted.
fn chosen(advice: &Advice) -> Result<Chosen, BadValue> {
    // An advice holds settings of SQLite alone.
    Chosen::of(&advice.settings, |_| true)
}

/// Returns remarks on the text for one binding.
fn remarks(binding: Binding, chosen: &Chosen) -> Vec<String> {
    let unproved = "Written from the binding's documents; pragmark's tests do not execute it.";
    let unproved = (!binding.is_executed()).then_some(unproved);
    let known = [binding.remark(), unproved].into_iter().flatten().map(str::to_owned);
    known.chain(binding.cannot(chosen)).collect()
}

/// Returns the result of a search for settings for the first screen: those with the accepted loss, their gain
/// and what a power cut then takes, to paste as they stand.
pub(super) fn sought(subject: &Subject<'_>) -> Vec<Block> {
    let Some(rung) = sought_rung(subject) else { return Vec::new() };
    let found = subject.finding.map(|finding| finding.variant);
    let sentence = sentence(rung, subject.experiment, &subject.names, found);
    let sentence = match rung.advice {
        Err(Withheld::TooFewRounds) => sentence.and(longer(subject)),
        _ => sentence,
    };
    let to_paste = match rung.advice.as_ref().ok().map(chosen) {
        None => Vec::new(),
        Some(Err(problem)) => vec![Block::small(format!("{problem}."))],
        Some(Ok(chosen)) => to_paste(&chosen),
    };
    blocks![Block::paragraph(sentence), to_paste]
}

fn to_paste(chosen: &Chosen) -> Vec<Block> {
    let once = of_file(chosen).into_iter().flatten();
    let connections = Binding::Shell.text(chosen);
    // The first line says when.
    let each = (connections.lines().count() > 1).then(|| Block::code("sql", connections));
    blocks![once, each, chosen.remarks_on_wal().into_iter().map(Block::small)]
}

/// Returns the recommended settings in the forms of bindings; empty if there is nothing to set.
pub(super) fn for_programs(subject: &Subject<'_>) -> Vec<Block> {
    let advice = sought_rung(subject).and_then(|rung| rung.advice.as_ref().ok());
    let Some(Ok(chosen)) = advice.map(chosen) else { return Vec::new() };
    if to_paste(&chosen).is_empty() {
        return Vec::new();
    }
    let forms = Block::unprinted("Ready to paste into a program", forms_of_bindings(&chosen));
    // Not printed in a terminal, whose last line names the command that prints one form.
    vec![Block::full(vec![forms])]
}

/// Returns the rung that a search for settings was for; none if the experiment was not tuned.
fn sought_rung<'a>(subject: &'a Subject<'_>) -> Option<&'a Rung> {
    ladder(subject)?.rung(subject.tuning()?.may_lose)
}

fn ladder<'a>(subject: &'a Subject<'_>) -> Option<&'a Ladder> {
    subject.analysis.ladders.iter().find(|ladder| ladder.experiment == subject.experiment.key)
}

/// The rungs of an experiment, as SQL, and in full forms for every binding. What may lose anything is not
/// among them, nor what a search was for, which comes first.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let sought = sought_rung(subject).map(|rung| rung.may_lose);
    let rungs = ladder(subject).into_iter().flat_map(|ladder| &ladder.rungs);
    let rungs =
        rungs.filter(|rung| rung.may_lose < MayLose::Anything && sought != Some(rung.may_lose));
    let own: Vec<Block> = rungs.flat_map(|rung| blocks_of(subject, rung)).collect();
    if own.is_empty() { own } else { blocks![Block::heading("Settings to use"), own] }
}

fn blocks_of(subject: &Subject<'_>, rung: &Rung) -> Vec<Block> {
    let sentence = Block::paragraph(sentence(rung, subject.experiment, &subject.names, None));
    let Ok(advice) = &rung.advice else { return vec![sentence] };
    let chosen = match chosen(advice) {
        Ok(chosen) => chosen,
        Err(problem) => return vec![sentence, Block::small(format!("{problem}."))],
    };
    let sql = sql(&chosen);
    let brief = if sql.is_empty() { Vec::new() } else { vec![Block::code("sql", sql)] };
    let full = vec![Block::unprinted("Ready to paste", forms(&chosen))];
    vec![sentence, Block::Depth { brief, full }]
}

fn forms(chosen: &Chosen) -> Vec<Block> {
    let once = of_file(chosen).map(|once| blocks![once, Block::small("And on every connection:")]);
    let wal = chosen.remarks_on_wal().into_iter().map(Block::small);
    blocks![once.unwrap_or_default(), forms_of_bindings(chosen), wal]
}

/// Returns the statements for each file.
fn of_file(chosen: &Chosen) -> Option<[Block; 2]> {
    let how = Sentence::from("Once for each database file, with ")
        .and_code("sqlite3 app.db")
        .words(" while nothing else has it open; VACUUM rewrites a file that has content:");
    Some([Block::small(how), Block::code("sql", once(chosen)?)])
}

fn forms_of_bindings(chosen: &Chosen) -> Vec<Block> {
    let form = |binding: Binding| {
        let text = Block::code(binding.language(), binding.text(chosen));
        let remarks = remarks(binding, chosen).into_iter().map(Block::small);
        Block::unprinted(binding.title(), blocks![text, remarks])
    };
    Binding::ALL[..Binding::SHOWN].iter().copied().map(form).collect()
}

/// Returns the accepted loss, the variant, its gain and its loss; or why there is none. The gain of what was `found` is known.
fn sentence(
    rung: &Rung,
    experiment: &ExperimentAnalysis,
    names: &Names,
    found: Option<usize>,
) -> Sentence {
    let accepted = Sentence::from(accepted_words(rung.may_lose)).words(": ");
    let advice = match &rung.advice {
        Ok(advice) => advice,
        Err(why) => return accepted.and(withheld(why, experiment, names)),
    };
    let name = names.sentence(advice.variant);
    let brings = match &advice.gain {
        None => Sentence::from("keep ").and(name).words(", the baseline; nothing better was found"),
        Some(_) if found == Some(advice.variant) => name,
        Some(gain) => name.words(", ").and(gain_of(gain, experiment)),
    };
    let preliminary = if advice.preliminary { " (preliminary)" } else { "" };
    let lost = match &advice.tier {
        Some(tier) => tier_words(tier),
        None => "no setting that matters in a crash differs from the baseline".to_owned(),
    };
    accepted.and(brings).words(preliminary).and(explained(&format!("; {lost}.")))
}

/// Returns the words for the loss that a rung accepts.
fn accepted_words(may_lose: MayLose) -> &'static str {
    match may_lose {
        MayLose::Unchanged => "With the safety of the baseline",
        MayLose::Nothing => "To lose no acknowledged transaction",
        MayLose::Recent => "If a power cut may take recent transactions",
        MayLose::Anything => "The fastest of all, whatever it loses",
    }
}

/// How a variant compares with the baseline, and which rounds show it.
fn gain_of(gain: &Gain, experiment: &ExperimentAnalysis) -> Sentence {
    let rounds = gain.confirmation_rounds.map_or("", |_| " in the confirmation run");
    let (ratio, interval) = (gain.ratio, gain.interval);
    if !gain.is_found {
        let ratio = figures::ratio(ratio, interval);
        return format!("no detectable difference from the baseline{rounds}, {ratio}").into();
    }
    Sentence::default().figure(format!("{} times", figures::times(ratio, interval))).words(format!(
        " {} the baseline{rounds}, {}",
        gain_words(&experiment.metric),
        figures::interval_of_ratio(ratio, interval)
    ))
}

/// Why a rung has no advice.
fn withheld(why: &Withheld, experiment: &ExperimentAnalysis, names: &Names) -> Sentence {
    let why: Sentence = match why {
        Withheld::NoVariant => return "no variant of this experiment is known to.".into(),
        Withheld::NoBaseline => "the baseline was not measured".into(),
        Withheld::TooFewRounds => "too few rounds compare anything with the baseline".into(),
        Withheld::NotMeasured(why) if why.is_empty() => {
            "the loss in a crash was not measured".into()
        }
        Withheld::NotMeasured(why) => format!("the loss in a crash was not measured ({why})").into(),
        Withheld::NoneWithinConstraints => {
            "no variant that may be used keeps the constraints".into()
        }
        Withheld::Unresolved(tied) => Sentence::from(too_noisy(*tied)).and(more_rounds(experiment)),
        Withheld::Unconfirmed(variant) => {
            Sentence::from("the confirmation run does not distinguish ")
                .and(names.sentence(*variant))
                .words(" from the baseline")
        }
        Withheld::TooNoisy(variant, detectable) => names
            .sentence(*variant)
            .words(format!(
                " is not distinguishable from the baseline, and the rounds could only have detected a difference of {}",
                figures::percent(*detectable)
            ))
            .and(finer(experiment)),
    };
    Sentence::from("no recommendation, because ").and(why).words(".")
}
