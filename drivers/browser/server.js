// Serves the pages of the driver on the loopback address, hands tasks to them and takes their messages. The two headers
// isolate pages from other origins: without them a page has no shared memory, which the VFS `opfs` needs, and its clock is coarse.
"use strict";

const fs = require("node:fs");
const http = require("node:http");
const path = require("node:path");

const TYPES = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm" };
const HEADERS = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
const PAGE = '<!doctype html><link rel="icon" href="data:,"><script type="module" src="/page/page.mjs"></script>';

class Server {
  constructor(folder) {
    this.folder = folder;
    this.tasks = [];
  }

  listen() {
    this.server = http.createServer((request, response) => this.answer(request, response));
    return new Promise((resolve, reject) => {
      this.server.on("error", reject);
      this.server.listen(0, "127.0.0.1", resolve);
    });
  }

  close() {
    this.server.close();
    this.server.closeAllConnections();
  }

  // The address of a page for a task, whose messages go to `hear`. `/wait/TASK` is answered when `go` is fulfilled.
  page(task, thread, hear, go) {
    this.tasks.push({ task, hear, go });
    return `http://127.0.0.1:${this.server.address().port}/?task=${this.tasks.length - 1}&thread=${thread}`;
  }

  answer(request, response) {
    const send = (status, type, body) => {
      response.writeHead(status, { ...HEADERS, "Content-Type": type });
      response.end(body);
    };
    const { pathname } = new URL(request.url, "http://127.0.0.1");
    const [, what, id] = pathname.split("/");
    if (pathname === "/") return send(200, "text/html", PAGE);
    if (what === "task") return send(200, "application/json", JSON.stringify(this.tasks[id].task));
    if (what === "wait") return this.tasks[id].go.then(() => send(204, "text/plain"));
    if (what === "say") {
      let text = "";
      request.on("data", (part) => (text += part));
      return request.on("end", () => {
        send(204, "text/plain");
        this.tasks[id].hear(JSON.parse(text));
      });
    }
    // A URL's path cannot lead out of the folder: `..` is resolved in it.
    const file = path.join(this.folder, pathname);
    fs.readFile(file, (error, bytes) => {
      if (error) send(404, "text/plain", String(error.code));
      else send(200, TYPES[path.extname(file)] ?? "application/octet-stream", bytes);
    });
  }
}

module.exports = { Server };
