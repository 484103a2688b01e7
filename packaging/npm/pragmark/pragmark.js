#!/usr/bin/env node
// Starts the program in the package of this platform, and ends as it does.
"use strict";
const { spawnSync } = require("node:child_process");
const { constants } = require("node:os");

const platform = `pragmark-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${platform}/pragmark`);
} catch {
  console.error(`error: there is no pragmark for ${process.platform} on ${process.arch}`);
  console.error("hint: Linux with glibc on x64 and arm64 is supported; install without --omit=optional");
  process.exit(3);
}
// The program gets Ctrl-C itself, and says how to resume.
process.on("SIGINT", () => {});
const ended = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (ended.error) {
  console.error(`error: cannot start ${program}: ${ended.error.message}`);
  process.exit(3);
}
process.exit(ended.status ?? 128 + (constants.signals[ended.signal] ?? 0));
