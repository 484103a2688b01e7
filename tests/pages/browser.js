// Starts headless Chromium and opens pages in it. PRAGMARK_CHROMIUM names the browser.
import { existsSync } from "node:fs";
import puppeteer from "puppeteer-core";

const BROWSERS = [process.env.PRAGMARK_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
export const SCHEMES = ["light", "dark"];

/** The browser. Without one, this ends the program: with an error if CI is set. */
export async function launch() {
  const executablePath = BROWSERS.find((path) => path && existsSync(path));
  if (!executablePath) {
    console.error("there is no Chromium; PRAGMARK_CHROMIUM names one");
    process.exit(process.env.CI ? 1 : 0);
  }
  return puppeteer.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
}

/** Opens a page and returns it with what it says on the console and requests of addresses that are not its own. */
export async function open(browser, url, { width, scheme = "light", scripts = true, isOwn = (address) => address === url }) {
  const page = await browser.newPage();
  const noise = [];
  page.on("console", (message) => noise.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => noise.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (!isOwn(request.url()) && !request.url().startsWith("data:")) noise.push(`request: ${request.url()}`);
  });
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.setJavaScriptEnabled(scripts);
  await page.goto(url, { waitUntil: "load" });
  return { page, noise };
}
