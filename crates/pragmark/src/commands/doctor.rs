//! `pragmark doctor`: what this machine can measure, and how precisely.

use std::fmt::Write;
use std::path::PathBuf;

use ::engine::build::RELEASES;
use app::Result;
use app::doctor::{MachineCheck, NEEDED_TO_BUILD, machine};
use app::driver::{DriverState, states};
use app::words::humanly;
use lab::environment::{Environment, NoiseProbe, Volume};
use lab::stats::blocks_needed;
use runner::machine::Tool;
use serde_json::json;

use super::{driver, engine};
use crate::exit::Exit;
use crate::output;

/// Checks the machine and prints the result.
pub fn execute(directories: &[PathBuf], noise_s: f64, is_json: bool) -> Result<Exit> {
    tell!("checking the machine: {}", humanly(noise_s + 3.0 * directories.len() as f64));
    let check = machine(directories, noise_s)?;
    let drivers = states(&check.registry);
    if is_json {
        output::display_json(&as_json(&check, &drivers))
    } else {
        output::display(&as_text(&check, &drivers))
    }
}

fn as_json(check: &MachineCheck, drivers: &[DriverState<'_>]) -> serde_json::Value {
    let MachineCheck { environment, noise, engines, tools, .. } = check;
    let tool = |tool: &Tool| json!({ "name": tool.name, "found": tool.found, "version": tool.version, "hint": tool.hint });
    let tools: Vec<_> = tools.iter().map(tool).collect();
    json!({ "machine": environment, "noise": noise, "engines": engines, "tools": tools, "drivers": driver::as_json(drivers) })
}

fn as_text(check: &MachineCheck, drivers: &[DriverState<'_>]) -> String {
    let MachineCheck { environment, noise, engines, tools, .. } = check;
    let mut text = String::new();
    text += &machine_lines(environment);
    for volume in &environment.volumes {
        text += &volume_lines(volume);
    }
    text += &noise_lines(noise);
    text += "\nEngines\n";
    for record in engines {
        text += &engine::line(record);
    }
    text += &buildable(tools);
    text += "\nTools\n";
    for tool in tools {
        text += &tool_line(tool);
    }
    text += "\nDrivers in other languages\n";
    text += &driver::lines(drivers);
    let warnings = environment.warnings();
    text += if warnings.is_empty() { "\nNo warnings.\n" } else { "\nWarnings\n" };
    for warning in warnings {
        let _ = writeln!(text, "  {warning}");
    }
    text
}

/// Returns which other engines can be built, or what is missing.
fn buildable(tools: &[Tool]) -> String {
    let missing: Vec<&str> = tools
        .iter()
        .filter(|tool| tool.found.is_none())
        .map(|tool| tool.name.as_str())
        .filter(|name| NEEDED_TO_BUILD.contains(name))
        .collect();
    let versions = match RELEASES {
        [newest, .., oldest] => format!("{} to {}", oldest.version, newest.version),
        _ => String::new(),
    };
    match missing[..] {
        [] => format!(
            "  can be built: {} versions from {versions}, with option sets; see `pragmark engine list`\n",
            RELEASES.len()
        ),
        _ => format!(
            "  no others can be built: {} not found (see below how to install it)\n",
            missing.join(" and ")
        ),
    }
}

fn known(value: &Option<String>) -> &str {
    value.as_deref().unwrap_or("unknown")
}

fn gib(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

fn machine_lines(environment: &Environment) -> String {
    let Environment { system, cpu, memory, .. } = environment;
    let (system, kernel) = (known(&system.operating_system), known(&system.kernel));
    let cpus = cpu.logical_cpus.map_or("?".to_owned(), |count| count.to_string());
    let (model, governor) = (known(&cpu.model), known(&cpu.governor));
    let [total, available] = [memory.total_bytes, memory.available_bytes]
        .map(|bytes| bytes.map_or("unknown".to_owned(), gib));
    format!(
        "Machine\n  system: {system} {kernel}\n  cpu: {cpus} × {model}, governor {governor}\n  memory: {total}, {available} available\n"
    )
}

fn volume_lines(volume: &Volume) -> String {
    let (file_system, device) = (known(&volume.file_system), known(&volume.device));
    let directory = volume.path.display();
    let mut text = format!("\nDisk of {directory}\n  file system: {file_system} on {device}\n");
    if let Some(free) = volume.free_bytes {
        text += &format!("  free: {}\n", gib(free));
    }
    if let Some(fsync) = &volume.fsync {
        let [p50, p99] = [fsync.p50_ns, fsync.p99_ns].map(|ns| ns as f64 / 1e6);
        let count = fsync.count;
        text +=
            &format!("  fsync: p50 {p50:.3} ms, p99 {p99:.3} ms over {count} writes of 4 KiB\n");
    }
    text
}

/// Returns the noise as the number of blocks that an effect of a given size requires.
fn noise_lines(noise: &NoiseProbe) -> String {
    let mut text = format!("\nNoise of paired ratios ({} pairs)\n", noise.pairs);
    for (what, sd) in [("computing", noise.cpu_sd), ("syncing to the disk", noise.fsync_sd)] {
        let line = match sd {
            None => format!("  {what}: not measured\n"),
            Some(sd) => {
                let blocks = |effect: f64| {
                    blocks_needed(sd, effect.ln_1p())
                        .map_or("too many".to_owned(), |n| n.to_string())
                };
                format!(
                    "  {what}: ±{:.1} %; detecting 2 % takes {} blocks, 5 % {}, 20 % {}\n",
                    sd * 100.0,
                    blocks(0.02),
                    blocks(0.05),
                    blocks(0.2)
                )
            }
        };
        text += &line;
    }
    text
}

fn tool_line(tool: &Tool) -> String {
    match (&tool.found, &tool.version) {
        (Some(path), Some(version)) => format!("  {}: {version} ({})\n", tool.name, path.display()),
        (Some(path), None) => format!("  {}: {}\n", tool.name, path.display()),
        (None, _) => format!("  {}: not found; {}\n", tool.name, tool.hint),
    }
}
