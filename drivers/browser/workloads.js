// The workloads, each a function of the pages of a trial, its settings and a number from its seed; driver.toml describes them.
"use strict";

const fs = require("node:fs");
const { setTimeout: sleep } = require("node:timers/promises");
const { durability } = require("./durability.js");
const { CannotRun } = require("./pages.js");

// A kill comes within so many milliseconds after the last commit that it waits for: in any part of a later one.
const PAUSES = 50;

// Commits before the kill at the end of a trial.
const COMMITS = 5;

function phase(message) {
  if ("phase" in message) fs.writeSync(1, JSON.stringify(message) + "\n");
}

async function basics(pages, settings, start) {
  const measured = await pages.carryOut("work", { settings, start }, { hear: phase });
  if (!pages.persists) return { ...measured, durability: "nothing" };
  const acknowledged = await killAfter(pages, "browser", COMMITS, start % PAUSES);
  const [rows] = measured.checksum.split(" ");
  const { microseconds, ...found } = await pages.carryOut("start", { rows });
  // An empty database is opened sooner.
  if (found.isWhole) measured.metrics.start_us = microseconds;
  return { ...measured, durability: durability(found, acknowledged, measured.connections[0].pragmas.journal_mode) };
}

// Kills tabs or browsers that commit, and compares what they had acknowledged with what is there.
async function kill(pages, settings, start) {
  const metrics = { kills: settings.kills, acknowledged_commits: 0, lost_after_kill: 0, damaged_by_kill: 0 };
  const described = await pages.carryOut("describe", {});
  let rows = 0;
  for (let number = 0; number < settings.kills; number++) {
    const last = settings.commits + ((start + number * 7_919) % settings.commits);
    const acknowledged = await killAfter(pages, settings.kill, last, (last * 7_919) % PAUSES);
    const found = await pages.carryOut("check", {});
    const wanted = rows + acknowledged;
    // A commit may be done and not yet acknowledged.
    if (found.entries > wanted + 1) throw new Error(`wrong result: ${found.entries} rows instead of ${wanted}`);
    metrics.acknowledged_commits += acknowledged;
    metrics.lost_after_kill += Math.max(wanted - found.entries, 0);
    metrics.damaged_by_kill += found.integrity === "ok" ? 0 : 1;
    rows = found.entries;
  }
  // A count of losses is 0 for most stores, and 0 has no ratio.
  metrics.survived_percent = 100 * (1 - metrics.lost_after_kill / metrics.acknowledged_commits);
  return { ...described, metrics };
}

// Lets a page commit, kills it in the middle of a later commit, and returns how many it has acknowledged.
async function killAfter(pages, what, last, pause) {
  let acknowledged = 0;
  const page = await new Promise((resolve, reject) => {
    const hear = (message) => {
      acknowledged = message.acknowledged;
      if (acknowledged === last) started.then(resolve);
    };
    const started = pages.start("commit", {}, { hear });
    started.then((page) => page.answer).catch(reject);
  });
  await sleep(pause);
  await pages.kill(what);
  if (what === "tab") await page.close().catch(() => {});
  return acknowledged;
}

// Tabs commit to one database at the same time.
async function tabs(pages, settings) {
  const described = await pages.carryOut("describe", {});
  let begin;
  const go = new Promise((resolve) => (begin = resolve));
  const opened = [];
  for (let tab = 0; tab < settings.tabs; tab++) {
    const task = { tab, creates: tab === 0, ms: settings.milliseconds };
    let page;
    const ready = new Promise((resolve) => (page = pages.start("share", task, { go, hear: resolve })));
    page = await page;
    await Promise.race([ready, page.answer]).catch((error) => {
      if (tab === 0) throw error;
      throw new CannotRun(`tab ${tab + 1} cannot open the database that tab 1 has open: ${error.message}`);
    });
    opened.push(page);
  }
  begin();
  const done = await Promise.all(opened.map((page) => page.answer));
  await Promise.all(opened.map((page) => page.close()));
  const committed = done.map((tab) => tab.committed);
  const all = committed.reduce((sum, each) => sum + each, 0);
  const { entries, integrity } = await pages.carryOut("check", {});
  if (entries !== all || integrity !== "ok") {
    throw new Error(`wrong result: ${entries} rows instead of ${all}, integrity_check says ${integrity}`);
  }
  const metrics = {
    txns_per_s: (all * 1000) / settings.milliseconds,
    busy_errors: done.reduce((sum, tab) => sum + tab.busy, 0),
    slowest_tab_percent: all === 0 ? 0 : (100 * Math.min(...committed) * settings.tabs) / all,
  };
  return { ...described, metrics };
}

module.exports = { "binding-basics": basics, "browser-kill": kill, "browser-tabs": tabs };
