// Opens pages in headless Chromium and prints what is wrong with them: check.js PAGE...
//
// Each page is opened at three widths, light and dark, with scripts, then without scripts and for print. PRAGMARK_CHROMIUM names the
// browser.
import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";
import { problemsOfLayout, visibleHeadings } from "./inspect.js";

const BROWSERS = [process.env.PRAGMARK_CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const WIDTHS = [400, 800, 1280];
const SCHEMES = ["light", "dark"];
// A4 at 96 dots per inch, less the margins.
const PRINT_WIDTH = 718;

/** Opens a page and returns it with what it says on the console and requests besides itself. */
async function open(browser, url, { width, scheme = "light", scripts = true }) {
  const page = await browser.newPage();
  const noise = [];
  page.on("console", (message) => noise.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => noise.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (request.url() !== url && !request.url().startsWith("data:")) noise.push(`request: ${request.url()}`);
  });
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.setJavaScriptEnabled(scripts);
  await page.goto(url, { waitUntil: "load" });
  return { page, noise };
}

async function checkScreens(browser, url, report) {
  for (const width of WIDTHS) {
    for (const scheme of SCHEMES) {
      const { page, noise } = await open(browser, url, { width, scheme });
      const problems = [...noise, ...(await page.evaluate(problemsOfLayout))];
      problems.forEach((problem) => report(`${width} px, ${scheme}: ${problem}`));
      await page.close();
    }
  }
}

async function checkWithoutScripts(browser, url, report) {
  const headings = [];
  for (const scripts of [true, false]) {
    const { page } = await open(browser, url, { width: 1280, scripts });
    headings.push(await page.evaluate(visibleHeadings));
    await page.close();
  }
  const [withScripts, without] = headings;
  const missing = withScripts.filter((heading) => !without.includes(heading));
  missing.forEach((heading) => report(`without scripts: the heading "${heading}" is missing`));
}

async function checkPrint(browser, url, report) {
  const { page } = await open(browser, url, { width: PRINT_WIDTH });
  await page.emulateMediaType("print");
  const problems = await page.evaluate(problemsOfLayout);
  problems.filter((problem) => problem.startsWith("overflow")).forEach((problem) => report(`print: ${problem}`));
  const pdf = await page.pdf({ format: "A4" });
  if (pdf.length < 2000) report("print: the document is empty");
  await page.close();
}

async function main() {
  const executablePath = BROWSERS.find((path) => path && existsSync(path));
  if (!executablePath) {
    console.error("there is no Chromium; PRAGMARK_CHROMIUM names one");
    process.exit(process.env.CI ? 1 : 0);
  }
  const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  let problems = 0;
  for (const path of process.argv.slice(2)) {
    const url = pathToFileURL(resolve(path)).href;
    const report = (problem) => {
      problems += 1;
      console.log(`${basename(path)}: ${problem}`);
    };
    await checkScreens(browser, url, report);
    await checkWithoutScripts(browser, url, report);
    await checkPrint(browser, url, report);
  }
  await browser.close();
  const pages = process.argv.length - 2;
  console.log(`${pages} pages, ${problems} problems`);
  process.exit(problems > 0 || pages === 0 ? 1 : 0);
}

await main();
