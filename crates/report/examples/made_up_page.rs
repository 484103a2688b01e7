//! Writes the page of a made-up run to a path, to be looked at in a browser:
//! `cargo run -p pragmark-report --example made_up_page -- page.html`.

#[path = "../tests/it/made_up/mod.rs"]
mod made_up;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: made_up_page PATH")?;
    std::fs::write(&path, pragmark_report::html(made_up::analysis())?)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(())
}
