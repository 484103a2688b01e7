//! The settings to use, in sentences and ready to paste.

use lab::analysis::{Analysis, ExperimentAnalysis, Recommendation};
use lab::tier::Class;

use super::Subject;
use crate::document::{Block, Code, Sentence, led};
use crate::figures;
use crate::names::Names;
use crate::settings::{BadValue, Binding, Chosen, comment, once};
use crate::words::{gain_words, tier_words};

/// Which settings are wanted.
#[derive(Clone, Debug, Default)]
pub struct SettingsQuery {
    /// Those of one experiment, by its key; otherwise of all.
    pub experiment: Option<String>,
    /// The form for one binding; otherwise every form.
    pub binding: Option<Binding>,
    /// Whether also the fastest that may be less safe than the baseline.
    pub fastest: bool,
}

/// The settings to use as plain text. For one binding, what is no program stands in comments, so that
/// the whole can be pasted.
pub fn settings_to_use(analysis: &Analysis, query: &SettingsQuery) -> String {
    let mark = mark_of(query.binding);
    let wanted = |one: &&Recommendation| {
        let key = query.experiment.as_ref();
        key.is_none_or(|key| *key == one.experiment)
    };
    let block = |one: &Recommendation| {
        let mut experiments = analysis.experiments.iter();
        let experiment = experiments.find(|it| it.key == one.experiment)?;
        let question = format!("{}: {}", experiment.key, experiment.question);
        let advice = sentence(one, experiment, &Names::of(experiment)).plain();
        let head = comment(mark, &question) + &comment(mark, &advice);
        Some(match one.crash_relevant.is_empty() || query.fastest {
            true => head + &body(one, query.binding),
            false => head + &comment(mark, "Not printed; --fastest prints it."),
        })
    };
    let wanted = analysis.recommendations.iter().filter(wanted);
    wanted.filter_map(block).collect::<Vec<_>>().join("\n")
}

/// What begins comments; an overview of all bindings is no program.
fn mark_of(binding: Option<Binding>) -> &'static str {
    binding.map_or("#", Binding::comment_mark)
}

fn body(recommendation: &Recommendation, binding: Option<Binding>) -> String {
    let chosen = match chosen(recommendation) {
        Ok(chosen) => chosen,
        Err(problem) => return comment(mark_of(binding), &format!("{problem}.")),
    };
    let once = once(&chosen);
    match binding {
        Some(binding) => {
            let mark = binding.comment_mark();
            let remarks = remarks(binding, &chosen).into_iter();
            let mut lines: Vec<String> = remarks.map(|it| comment(mark, &it)).collect();
            lines.extend(once.map(|once| once_in_comments(&once, mark)));
            lines.concat() + &binding.text(&chosen)
        }
        None => {
            let section = |title: &str, text: &str| format!("\n## {title}\n\n{text}");
            let once =
                once.map(|once| section("Once for each database file, with sqlite3 app.db", &once));
            let forms =
                Binding::ALL.map(|binding| section(binding.title(), &binding.text(&chosen)));
            once.into_iter().chain(forms).collect()
        }
    }
}

/// What shapes the file is SQL, whatever the language around it.
fn once_in_comments(once: &str, mark: &str) -> String {
    let lines = once.lines().map(|line| format!("{mark}   {line}\n"));
    let head = format!("{mark} Once for each database file, with sqlite3 app.db:\n");
    head + &lines.collect::<String>()
}

/// The settings of a recommendation, sorted for printing.
///
/// # Errors
/// For a value that could be more than a value where it is pasted.
fn chosen(recommendation: &Recommendation) -> Result<Chosen, BadValue> {
    // A recommendation holds settings of SQLite alone.
    Chosen::of(&recommendation.settings, |_| true)
}

/// What to know of the text for one binding besides.
fn remarks(binding: Binding, chosen: &Chosen) -> Vec<String> {
    let remark = binding.remark().map(str::to_owned);
    remark.into_iter().chain(binding.cannot(chosen)).collect()
}

/// The settings that an experiment recommends, as SQL, and in full forms for every binding.
pub(super) fn blocks(subject: &Subject<'_>) -> Vec<Block> {
    let all = subject.analysis.recommendations.iter();
    let own = all.filter(|one| one.experiment == subject.experiment.key);
    let own: Vec<Block> = own.flat_map(|one| advice(subject, one)).collect();
    let heading = Block::Heading("Settings to use".to_owned());
    let last = subject.analysis.recommendations.last();
    let is_last = last.is_some_and(|one| one.experiment == subject.experiment.key);
    let hint = Sentence::from("For another binding: ").and_code("pragmark settings RUN --for NAME");
    let hint = is_last.then(|| Block::brief(vec![Block::small(hint.words("."))]));
    match own.is_empty() {
        true => own,
        false => led(heading, own).chain(hint).collect(),
    }
}

fn advice(subject: &Subject<'_>, recommendation: &Recommendation) -> Vec<Block> {
    let sentence = sentence(recommendation, subject.experiment, &subject.names);
    let sentence = Block::paragraph(sentence);
    let chosen = match chosen(recommendation) {
        Ok(chosen) => chosen,
        Err(problem) => return vec![sentence, Block::small(format!("{problem}."))],
    };
    let pragmas = chosen.pragmas();
    let sql = pragmas
        .iter()
        .map(|(name, value)| format!("PRAGMA {name} = {value};"));
    let sql = code("sql", sql.collect::<Vec<_>>().join(" "));
    let brief = if pragmas.is_empty() {
        Vec::new()
    } else {
        vec![sql]
    };
    let full = vec![Block::unprinted("Ready to paste", forms(&chosen))];
    vec![sentence, Block::Depth { brief, full }]
}

fn forms(chosen: &Chosen) -> Vec<Block> {
    let how = Sentence::from("Once for each database file, with ")
        .and_code("sqlite3 app.db")
        .words(" while nothing else has it open; VACUUM rewrites a file that has content:");
    let once = once(chosen).into_iter().flat_map(|once| {
        let then = Block::small("And on every connection:");
        [Block::small(how.clone()), code("sql", once), then]
    });
    let form = |binding: Binding| {
        let text = code(binding.language(), binding.text(chosen));
        let remarks = remarks(binding, chosen).into_iter().map(Block::small);
        Block::unprinted(binding.title(), [text].into_iter().chain(remarks).collect())
    };
    once.chain(Binding::ALL.map(form)).collect()
}

fn code(language: &'static str, text: String) -> Block {
    Block::Code(Code { language, text })
}

/// Which variant it is and what speaks for and against it.
fn sentence(
    recommendation: &Recommendation,
    experiment: &ExperimentAnalysis,
    names: &Names,
) -> Sentence {
    let name = names.sentence(recommendation.variant);
    let Some((gain, interval)) = recommendation.gain.zip(recommendation.interval) else {
        return Sentence::from("Keep ")
            .and(name)
            .words(": nothing as safe as the baseline was found to be better.");
    };
    let preliminary = match recommendation.preliminary {
        true => " (preliminary)",
        false => "",
    };
    let gain_of = gain_words(&experiment.metric);
    Sentence::from(match recommendation.crash_relevant.is_empty() {
        true => "The best that is as safe as the baseline: ",
        false => "The best of all: ",
    })
    .and(name)
    .words(", ")
    .figure(format!("{} times", figures::times(gain, interval)))
    .words(format!(" {gain_of} the baseline{preliminary}."))
    .and(safety(recommendation))
}

/// What a recommendation says of safety, after its speed.
fn safety(recommendation: &Recommendation) -> Sentence {
    match &recommendation.tiers {
        Some(change) if change.own.class() != Class::default() => format!(
            " In a crash: {} (baseline: {}).",
            tier_words(&change.own),
            tier_words(&change.baseline)
        )
        .into(),
        _ if recommendation.crash_relevant.is_empty() => Sentence::default(),
        _ => Sentence::from(" What a crash can destroy with this ")
            .and_code(recommendation.crash_relevant.join(", "))
            .words(" was not measured."),
    }
}
