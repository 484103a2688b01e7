//! Tests of reports and exports on made-up runs.

mod agreement;
mod comparisons;
mod fleet;
mod hostile;
mod junit;
mod made_up;
mod page;
mod read_tables;
mod read_trials;
mod services;
mod settings;
mod views;
