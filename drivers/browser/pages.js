// The browser of a trial, with its pages: each carries out one task with the database of the trial.
"use strict";

const path = require("node:path");
const { Chromium } = require("./chromium.js");
const { Server } = require("./server.js");

// The trial cannot be done with this store.
class CannotRun extends Error {}

class Pages {
  // A store says where the library keeps databases: `library`, `store`, `thread`, and whether it `persists` them.
  constructor(store, spec) {
    Object.assign(this, store);
    this.profile = path.join(spec.directory, "profile");
    this.binding = spec.binding;
    this.server = new Server(__dirname);
  }

  async open() {
    await this.server.listen();
    await this.openBrowser();
    this.version = (await this.browser.ask("Browser.getVersion")).product;
  }

  async openBrowser() {
    this.browser = new Chromium(this.profile);
  }

  async close() {
    await this.browser?.close();
    this.server.close();
  }

  // Opens a page for a task. `hear` takes its messages but the last one, `go` is what it waits for; the page has `answer`, which
  // is fulfilled with the result, and `close`.
  async start(kind, task, { hear = () => {}, go } = {}) {
    const page = {};
    page.answer = new Promise((resolve, reject) => {
      page.hear = (message) => {
        if ("answer" in message) resolve(message.answer);
        else if ("failed" in message) reject(new Error(message.failed));
        else hear(message);
      };
      this.browser.ended.then(() => reject(new Error(`the browser ended: ${this.browser.errors}`)));
    });
    // Nobody may wait for a page that is killed.
    page.answer.catch(() => {});
    const { pragmas, read_back } = this.binding;
    const whole = { kind, library: this.library, store: this.store, pragmas, read_back, ...task };
    const tab = await this.browser.openTab(this.server.page(whole, this.thread, page.hear, go));
    page.close = () => this.browser.closeTab(tab);
    return page;
  }

  // Opens a page for a task, and closes it with the task's answer.
  async carryOut(kind, task, options) {
    const page = await this.start(kind, task, options);
    const answer = await page.answer;
    await page.close();
    return answer;
  }

  // Kills what runs the pages, `tab`, or the whole browser, which is then started again.
  async kill(what) {
    if (what === "tab") {
      for (const id of await this.browser.processes("renderer")) process.kill(id, "SIGKILL");
    } else {
      const [id] = await this.browser.processes("browser");
      process.kill(id, "SIGKILL");
      await this.browser.ended;
      await this.openBrowser();
    }
  }
}

module.exports = { CannotRun, Pages };
