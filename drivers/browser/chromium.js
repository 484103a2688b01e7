// A headless Chromium with a profile of its own. It is spoken to through a pipe: when this process ends in whatever way,
// the pipe closes, and the browser ends itself.
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const { spawn } = require("node:child_process");

const NAMES = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];
const OPTIONS = [
  "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-breakpad",
  "--disable-extensions", "--no-default-browser-check", "--password-store=basic", "about:blank",
];

// The path of the browser; an error says what to do.
function find() {
  const named = process.env.PRAGMARK_BROWSER;
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  const candidates = named ? [named] : NAMES.flatMap((name) => folders.map((folder) => path.join(folder, name)));
  const found = candidates.find((candidate) => fs.existsSync(candidate));
  if (found) return found;
  throw new Error(
    named ? `PRAGMARK_BROWSER names ${named}, which does not exist` :
    "there is no Chromium: `apt install chromium`, or set PRAGMARK_BROWSER to the path of a Chromium or Chrome",
  );
}

class Chromium {
  constructor(profile) {
    this.waiting = new Map();
    this.last = 0;
    this.errors = "";
    const stdio = ["ignore", "ignore", "pipe", "pipe", "pipe"];
    this.child = spawn(find(), [...OPTIONS.slice(0, -1), `--user-data-dir=${profile}`, OPTIONS.at(-1)], { stdio });
    const [, , errors, commands, answers] = this.child.stdio;
    errors.on("data", (text) => (this.errors = (this.errors + text).slice(-2_000)));
    commands.on("error", () => {});
    this.commands = commands;
    let rest = "";
    answers.setEncoding("utf8").on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      for (const message of messages) this.take(JSON.parse(message));
    });
    this.ended = new Promise((resolve) => {
      this.child.on("error", resolve);
      this.child.on("close", resolve);
    });
    this.ended.then(() => {
      for (const { reject } of this.waiting.values()) reject(new Error(`the browser ended: ${this.errors}`));
    });
  }

  take({ id, result, error }) {
    const { resolve, reject } = this.waiting.get(id) ?? {};
    this.waiting.delete(id);
    if (error) reject?.(new Error(error.message));
    else resolve?.(result);
  }

  // Sends a command of the DevTools protocol.
  ask(method, params = {}) {
    return new Promise((resolve, reject) => {
      const id = ++this.last;
      this.waiting.set(id, { resolve, reject });
      this.commands.write(JSON.stringify({ id, method, params }) + "\0");
    });
  }

  async openTab(url) {
    return (await this.ask("Target.createTarget", { url })).targetId;
  }

  closeTab(targetId) {
    return this.ask("Target.closeTarget", { targetId });
  }

  // The ids of its processes of a type: `browser`, `renderer`, `utility`, `GPU`.
  async processes(type) {
    const { processInfo } = await this.ask("SystemInfo.getProcessInfo");
    return processInfo.filter((process) => process.type === type).map((process) => process.id);
  }

  async close() {
    this.ask("Browser.close").catch(() => {});
    const late = setTimeout(() => this.child.kill("SIGKILL"), 10_000);
    await this.ended;
    clearTimeout(late);
  }
}

module.exports = { Chromium, find };
