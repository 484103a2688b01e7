// Opens every page of the documentation site as a phone and a screen show it, light and dark, and prints what is wrong: site.js SITE
import { readdirSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, open, SCHEMES } from "./browser.js";
import { problemsOfLayout } from "./inspect.js";

const WIDTHS = [400, 1280];
// mdBook makes these: all pages in one, the page of a server, and the list that pages without scripts embed.
const NOT_PAGES = ["print.html", "404.html", "toc.html"];

function pagesOf(site) {
  const names = readdirSync(site, { recursive: true }).filter((name) => name.endsWith(".html"));
  return names.filter((name) => !NOT_PAGES.includes(name)).map((name) => join(site, name));
}

async function main() {
  const site = resolve(process.argv[2]);
  const own = pathToFileURL(site).href;
  const browser = await launch();
  const pages = pagesOf(site);
  let problems = 0;
  for (const path of pages) {
    for (const width of WIDTHS) {
      for (const scheme of SCHEMES) {
        const { page, noise } = await open(browser, pathToFileURL(path).href, { width, scheme, isOwn: (url) => url.startsWith(own) });
        for (const problem of [...noise, ...(await page.evaluate(problemsOfLayout))]) {
          problems += 1;
          console.log(`${relative(site, path)}: ${width} px, ${scheme}: ${problem}`);
        }
        await page.close();
      }
    }
  }
  await browser.close();
  console.log(`${pages.length} pages of the site, ${problems} problems`);
  process.exit(problems > 0 || pages.length === 0 ? 1 : 0);
}

await main();
