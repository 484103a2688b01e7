//! The settings to use, in sentences and ready to paste.

use lab::analysis::{Analysis, ExperimentAnalysis, Recommendation};

use crate::answer::{Piece, Sentence, plain};
use crate::figures;
use crate::names::Names;
use crate::settings::{BadValue, Binding, Chosen, once};
use crate::tiers;
use crate::words::gain_words;

/// Which settings are asked for.
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
    let mark = query.binding.map_or("#", Binding::comment);
    let mut blocks = Vec::new();
    for recommendation in &analysis.recommendations {
        let asked = query.experiment.as_ref();
        if asked.is_some_and(|key| *key != recommendation.experiment) {
            continue;
        }
        let of_key = |it: &&ExperimentAnalysis| it.key == recommendation.experiment;
        let Some(experiment) = analysis.experiments.iter().find(of_key) else {
            continue;
        };
        let head = [
            format!("{}: {}", experiment.key, experiment.question),
            plain(&sentence(recommendation, experiment)),
        ];
        let mut lines: Vec<String> = head.map(|line| format!("{mark} {line}")).into();
        if recommendation.crash_relevant.is_empty() || query.fastest {
            lines.push(body(recommendation, query.binding));
        } else {
            lines.push(format!("{mark} Not printed; --fastest prints it.\n"));
        }
        blocks.push(lines.join("\n"));
    }
    blocks.join("\n")
}

fn body(recommendation: &Recommendation, binding: Option<Binding>) -> String {
    let chosen = match chosen(recommendation) {
        Ok(chosen) => chosen,
        Err(problem) => return format!("{} {problem}.\n", binding.map_or("#", Binding::comment)),
    };
    let once = once(&chosen);
    match binding {
        Some(binding) => {
            let mark = binding.comment();
            let remarks = form(binding, &chosen).remarks.into_iter();
            let mut lines: Vec<String> = remarks.map(|it| format!("{mark} {it}\n")).collect();
            lines.extend(once.map(|once| once_in_comments(&once, mark)));
            lines.concat() + &binding.text(&chosen)
        }
        None => {
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

fn section(title: &str, text: &str) -> String {
    format!("\n## {title}\n\n{text}")
}

/// Settings of one variant in every form.
pub(crate) struct Advice {
    /// What they are and why.
    pub(crate) sentence: Sentence,
    /// What is set once for each file.
    pub(crate) once: Option<String>,
    /// What is set on every connection, a form for each binding.
    pub(crate) forms: Vec<Form>,
    /// Why there are no forms.
    pub(crate) problem: Option<String>,
}

/// The text for one binding.
pub(crate) struct Form {
    /// The binding.
    pub(crate) binding: Binding,
    /// What to paste.
    pub(crate) text: String,
    /// What to know besides.
    pub(crate) remarks: Vec<String>,
}

/// The settings that an experiment recommends.
pub(crate) fn advice(analysis: &Analysis, experiment: &ExperimentAnalysis) -> Vec<Advice> {
    let own = analysis
        .recommendations
        .iter()
        .filter(|one| one.experiment == experiment.key);
    own.map(|one| of(one, experiment)).collect()
}

fn of(recommendation: &Recommendation, experiment: &ExperimentAnalysis) -> Advice {
    let sentence = sentence(recommendation, experiment);
    match chosen(recommendation) {
        Ok(chosen) => Advice {
            sentence,
            once: once(&chosen),
            forms: Binding::ALL.map(|binding| form(binding, &chosen)).into(),
            problem: None,
        },
        Err(problem) => Advice {
            sentence,
            once: None,
            forms: Vec::new(),
            problem: Some(problem.to_string()),
        },
    }
}

/// The settings of a recommendation, sorted for printing.
///
/// # Errors
/// For a value that could be more than a value where it is pasted.
pub(crate) fn chosen(recommendation: &Recommendation) -> Result<Chosen, BadValue> {
    // A recommendation holds settings of SQLite alone.
    Chosen::of(&recommendation.settings, |_| true)
}

/// The text for one binding with everything to know besides.
pub(crate) fn form(binding: Binding, chosen: &Chosen) -> Form {
    let remark = binding.remark().map(str::to_owned);
    Form {
        binding,
        text: binding.text(chosen),
        remarks: remark.into_iter().chain(binding.cannot(chosen)).collect(),
    }
}

/// Which variant it is and what speaks for and against it.
pub(crate) fn sentence(
    recommendation: &Recommendation,
    experiment: &ExperimentAnalysis,
) -> Sentence {
    let names = Names::of(experiment);
    let name = Piece::Code(names.get(recommendation.variant).to_owned());
    let as_safe = recommendation.crash_relevant.is_empty();
    let Some((gain, interval)) = recommendation.gain.zip(recommendation.interval) else {
        return vec![
            words("Nothing was found to be better that is as safe as the baseline: "),
            name,
            words(" stays."),
        ];
    };
    let mut sentence = vec![
        words(match as_safe {
            true => "The best that is as safe as the baseline: ",
            false => "The best of all: ",
        }),
        name,
        words(", "),
        Piece::Figure(format!("{} times", figures::times(gain, interval))),
        words(&format!(
            " {} the baseline{}.",
            gain_words(&experiment.metric),
            if recommendation.preliminary {
                " (preliminary)"
            } else {
                ""
            }
        )),
    ];
    sentence.extend(tiers::of_recommendation(recommendation));
    sentence
}

fn words(text: &str) -> Piece {
    Piece::Words(text.to_owned())
}
