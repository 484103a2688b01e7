//! What is said of single settings.

use lab::analysis::effects::{Contrast, Effects};

use crate::agreement::reading::Chapter;

pub fn faults(chapter: &Chapter<'_>) -> Vec<String> {
    let Some(effects) = &chapter.experiment.effects else {
        return Vec::new();
    };
    let said = chapter.sentences();
    let checks = [nothing_found, denied, gains];
    checks.into_iter().flat_map(|check| check(chapter, effects, &said)).collect()
}

/// That nothing was detected is said where nothing was.
fn nothing_found(chapter: &Chapter<'_>, effects: &Effects, said: &[String]) -> Vec<String> {
    let is_said = |beginning: &str| said.iter().any(|said| said.starts_with(beginning));
    let conditions = &chapter.experiment.conditions;
    let found = effects.main.iter().filter(|main| main.contrast.is_found());
    let found = found.filter(|it| !conditions.contains(&it.factor)).count();
    let interactions = effects.interactions().len();
    let contradicted = [
        (is_said("No effect of a single setting") && found > 0, "an effect was found"),
        (is_said("No interaction between") && interactions > 0, "an interaction was found"),
        (is_said("There are too few rounds to show what") && found > 0, "an effect was found"),
    ];
    let contradicted = contradicted.into_iter().filter(|(is_so, _)| *is_so);
    contradicted.map(|(_, why)| why.to_owned()).collect()
}

/// No sentence on settings says that there is no difference: the rows of variants may show one.
fn denied(_: &Chapter<'_>, _: &Effects, said: &[String]) -> Vec<String> {
    let on_settings =
        said.iter().filter(|said| said.contains("depends on") || said.contains("matters only"));
    let denies =
        |it: &&String| it.contains("no detectable difference") || it.contains("matters only");
    on_settings.filter(denies).cloned().collect()
}

/// "X is 2 times as fast as Y" has the figure of an effect that was found, and `only` where it is a loss.
fn gains(chapter: &Chapter<'_>, effects: &Effects, said: &[String]) -> Vec<String> {
    let metric = &chapter.experiment.metric;
    let figures: Vec<String> = effects
        .main
        .iter()
        .filter(|main| main.contrast.is_found())
        .map(|main| gain(&main.contrast, metric))
        .collect();
    let on_effects = said.iter().filter(|said| said.contains("the others"));
    let wrong = on_effects.filter(|effect| {
        let Some((before, _)) = effect.split_once(" times as ") else {
            return false;
        };
        let (words, figure) = before.rsplit_once(' ').unwrap_or(("", before));
        let is_loss = figure.parse::<f64>().is_ok_and(|parse| parse < 1.0);
        !figures.iter().any(|effect| effect == figure) || is_loss != words.ends_with(" only")
    });
    wrong.map(|wrong| format!("no such effect: {wrong}")).collect()
}

fn gain(contrast: &Contrast, metric: &str) -> String {
    let (gain, interval) = contrast.gain(metric);
    pragmark_report::figures::times(gain, interval)
}
