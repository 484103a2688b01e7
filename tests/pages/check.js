// Opens pages in headless Chromium and prints what is wrong with them: check.js PAGE...
//
// Each page is opened at four widths, light and dark, with scripts, then without scripts and for print.
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, open, SCHEMES } from "./browser.js";
import { problemsOfLayout, visibleHeadings } from "./inspect.js";

const WIDTHS = [360, 400, 768, 1280];
// A4 at 96 dots per inch, less the margins.
const PRINT_WIDTH = 718;

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
  problems.filter((problem) => /^(overflow|label|a label)/.test(problem)).forEach((problem) => report(`print: ${problem}`));
  const pdf = await page.pdf({ format: "A4" });
  if (pdf.length < 2000) report("print: the document is empty");
  await page.close();
}

async function main() {
  const browser = await launch();
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
