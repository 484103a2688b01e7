//! The text of a script.

use std::collections::BTreeMap;

use super::form::Form;
use super::shapes::Shape;
use super::values::Fit;

/// A script that executes one of the shapes, by how often each came.
pub fn script(shapes: &[(Shape, u64)], forms: &[Form], fits: &BTreeMap<usize, Vec<Fit>>) -> String {
    let total: u64 = shapes.iter().map(|(_, count)| count).sum();
    let mut text = format!("-- recorded transactions: {total}\n");
    if shapes.len() > 1 {
        text += &format!("\\set shape random(1, {total})\n");
    }
    let (mut sum, mut variables) = (0, 0);
    for (number, (shape, count)) in shapes.iter().enumerate() {
        sum += count;
        text += &match number {
            _ if shapes.len() == 1 => String::new(),
            0 => format!("\\if :shape <= {sum}\n"),
            _ => format!("\\elif :shape <= {sum}\n"),
        };
        text += &format!("-- {count} of {total}\n");
        for form in shape {
            text += &statement(&forms[*form], fits.get(form), &mut variables);
        }
    }
    if shapes.len() > 1 {
        text += "\\endif\n";
    }
    text
}

/// The commands for the variables of a statement, and the statement.
fn statement(form: &Form, fits: Option<&Vec<Fit>>, variables: &mut usize) -> String {
    let (mut commands, mut slots) = (String::new(), Vec::new());
    for fit in fits.into_iter().flatten() {
        *variables += 1;
        let name = format!("v{variables}");
        if let Some(command) = fit.command(&name) {
            commands += &command;
            commands.push('\n');
        }
        slots.push(fit.sql(&name));
    }
    format!("{commands}{};\n", form.with(&slots).trim_start())
}
