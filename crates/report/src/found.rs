//! What trials found out that is data but no figure (bytecode, query plans), each thing once.
//!
//! Most variants of an experiment run the same statements, so equal tables are shown once with the
//! names of their variants: a difference then stands out by itself.

use lab::analysis::ExperimentAnalysis;
use lab::trial::DataTable;

use crate::names::Names;

/// Everything of one title.
pub(crate) struct Found<'a> {
    /// What it shows, such as `bytecode of the INSERT`.
    pub(crate) title: &'a str,
    /// The different tables, in the order of the plan.
    pub(crate) variants: Vec<Variant<'a>>,
}

/// One table and the variants in which it was found.
pub(crate) struct Variant<'a> {
    /// The variants.
    pub(crate) variants: Vec<String>,
    /// Whether these are all variants in which something of this title was found, and more than one.
    pub(crate) everywhere: bool,
    /// The table.
    pub(crate) table: &'a DataTable,
}

/// What the trials of an experiment found out, in the order in which it first occurs.
pub(crate) fn found(experiment: &ExperimentAnalysis) -> Vec<Found<'_>> {
    let names = Names::of(experiment);
    let mut found: Vec<Found<'_>> = Vec::new();
    for (index, variant) in experiment.variants.iter().enumerate() {
        for table in &variant.tables {
            let name = names.get(index).to_owned();
            match found.iter_mut().find(|found| found.title == table.title) {
                Some(known) => known.add(name, table),
                None => found.push(Found {
                    title: &table.title,
                    variants: vec![Variant::of(name, table)],
                }),
            }
        }
    }
    for found in &mut found {
        if let [only] = &mut found.variants[..] {
            only.everywhere = only.variants.len() > 1;
        }
    }
    found
}

impl<'a> Found<'a> {
    fn add(&mut self, variant: String, table: &'a DataTable) {
        match self.variants.iter_mut().find(|known| known.table == table) {
            Some(known) => known.variants.push(variant),
            None => self.variants.push(Variant::of(variant, table)),
        }
    }
}

impl<'a> Variant<'a> {
    fn of(variant: String, table: &'a DataTable) -> Variant<'a> {
        Variant {
            variants: vec![variant],
            everywhere: false,
            table,
        }
    }
}
