// What is looked at within a page. The browser gets each of these functions alone, so each contains all that it needs.

/** The texts of the headings that a reader sees. */
export function visibleHeadings() {
  const headings = [...document.querySelectorAll("h1, h2, h3")];
  return headings.filter((heading) => heading.getClientRects().length > 0).map((heading) => heading.textContent.trim());
}

/** Overflow, labels that overlap, words that are broken, small letters and tap targets, contrast, headings, pictures without words, and a
 * page without a title or language. */
export function problemsOfLayout() {
  const problems = [];
  const shorten = (text) => text.trim().replace(/\s+/g, " ").slice(0, 40);
  const isVisible = (element) => element.getClientRects().length > 0 && getComputedStyle(element).visibility !== "hidden";

  const overflow = () => {
    const { scrollWidth, clientWidth } = document.documentElement;
    if (scrollWidth > clientWidth) problems.push(`overflow: ${scrollWidth} px in ${clientWidth}`);
  };

  // The boxes of the lines of all texts that a reader sees, with the element that holds each.
  const lines = () => {
    // Sections that are laid out only when they are looked at would move what was measured before them.
    document.querySelectorAll(".experiment").forEach((part) => (part.style.contentVisibility = "visible"));
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    const lines = [];
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.textContent.trim() || !element.checkVisibility({ visibilityProperty: true }) || element.closest("script, style, title, .skip")) continue;
      range.selectNodeContents(walker.currentNode);
      const boxes = [...range.getClientRects()].filter((box) => box.width > 1 && box.height > 1);
      lines.push(...boxes.map((box) => ({ text: shorten(walker.currentNode.textContent), element, box })));
    }
    return lines.sort((one, other) => one.box.top - other.box.top);
  };
  const labels = () => {
    const all = lines();
    all.forEach(({ text, element, box }, index) => {
      const row = element.closest("li, td, th, summary, figcaption")?.getBoundingClientRect();
      if (row && (box.top < row.top - 3 || box.bottom > row.bottom + 3)) problems.push(`a label leaves its row: "${text}"`);
      for (const other of all.slice(index + 1)) {
        if (other.box.top > box.bottom) break;
        const width = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const height = Math.min(box.bottom, other.box.bottom) - other.box.top;
        // Boxes of text have some air above and below the letters.
        if (width > 1 && height > 0.35 * Math.min(box.height, other.box.height)) {
          problems.push(`labels overlap: "${text}" and "${other.text}"`);
        }
      }
    });
  };

  // A line of a scale without a label says nothing.
  const scales = () => {
    for (const plot of [...document.querySelectorAll(".forest .plot, .tiers .plot")].filter(isVisible)) {
      const places = (selector, name) => [...plot.querySelectorAll(selector)].filter(isVisible).map((mark) => mark.getAttribute(name));
      const labelled = places(".ticks text", "x");
      const bare = new Set(places(".grid", "x1").filter((place) => !labelled.includes(place)));
      if (bare.size > 0) problems.push(`lines of a scale without labels: ${[...bare].join(" ")}`);
    }
  };

  const numbers = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((value) => value / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((value, index) => value * a + below[index] * (1 - a));
  const background = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(numbers(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, layer) => (layer.length ? over(layer, below) : below), [255, 255, 255]);
  };
  const contrast = () => {
    const said = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      const style = getComputedStyle(element);
      if (!walker.currentNode.textContent.trim() || !isVisible(element) || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
      const below = background(element);
      const colour = over(numbers(element.closest("svg") ? style.fill : style.color), below);
      const [light, dark] = [luminance(colour), luminance(below)].sort((a, b) => b - a);
      const ratio = (light + 0.05) / (dark + 0.05);
      const size = parseFloat(style.fontSize);
      const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const key = `${style.color} ${style.fill} ${below}`;
      if (ratio < (isLarge ? 3 : 4.5) && !said.has(key)) {
        said.add(key);
        problems.push(`contrast ${ratio.toFixed(2)}: "${shorten(walker.currentNode.textContent)}"`);
      }
    }
  };

  // A word or number in a table that stands on two lines: "Tim" and "e".
  const words = () => {
    const said = new Set();
    const range = document.createRange();
    for (const cell of [...document.querySelectorAll(".figures :is(th, td)")].filter(isVisible)) {
      const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const text = walker.currentNode;
        if (text.parentElement.closest(".below, svg")) continue;
        for (const { 0: word, index } of text.textContent.matchAll(/[\p{L}\p{N}.,×]{2,24}/gu)) {
          range.setStart(text, index);
          range.setEnd(text, index + word.length);
          const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
          if (lines.size > 1 && !said.has(word)) {
            said.add(word);
            problems.push(`a word is broken: "${word}" in "${shorten(cell.textContent)}"`);
          }
        }
      }
    }
  };

  const sizes = () => {
    const said = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.textContent.trim() || !isVisible(element) || ["SCRIPT", "STYLE"].includes(element.tagName)) continue;
      // A picture is drawn at another size than its coordinates say.
      const picture = element.closest("svg");
      const scale = picture?.viewBox.baseVal?.width ? picture.getBoundingClientRect().width / picture.viewBox.baseVal.width : 1;
      const size = parseFloat(getComputedStyle(element).fontSize) * scale;
      const key = `${element.closest("[class]")?.getAttribute("class")} ${size.toFixed(1)}`;
      if (size < 10.95 && !said.has(key)) {
        said.add(key);
        problems.push(`letters of ${size.toFixed(1)} px: "${shorten(walker.currentNode.textContent)}" (${key})`);
      }
    }
  };

  const headings = () => {
    const levels = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((heading) => Number(heading.tagName[1]));
    const first = levels.filter((level) => level === 1).length;
    if (first !== 1) problems.push(`${first} headings of the first level`);
    levels.forEach((level, index) => {
      if (index > 0 && level > levels[index - 1] + 1) problems.push(`a heading of level ${level} follows one of level ${levels[index - 1]}`);
    });
  };

  const pictures = () => {
    const pictures = document.querySelectorAll("img:not([alt]), svg:not(svg svg, [aria-label], [aria-labelledby], [aria-hidden])");
    const isEmpty = (picture) => picture.tagName === "svg" && picture.childElementCount === 0;
    // The icon of a button, link or label that has a name is decoration.
    const isNamed = (picture) => picture.closest(":is(a, button, label):is([aria-label], [title])") !== null;
    for (const picture of [...pictures].filter((picture) => isVisible(picture) && !isEmpty(picture) && !isNamed(picture))) {
      if (!picture.querySelector("title, text")) problems.push("a picture has no words for those who do not see it");
    }
  };

  const head = () => {
    if (!document.title.trim()) problems.push("the page has no title");
    if (!document.documentElement.lang) problems.push("the page does not name its language");
    if (!document.querySelector("meta[name=viewport]")) problems.push("the page has no viewport for phones");
  };

  // WCAG 2.5.8: 24 px, or a circle of 24 px around the target touches no other one. Links within a sentence are exempt.
  const targets = () => {
    if (innerWidth > 480) return;
    const controls = [...document.querySelectorAll("a[href], button, select, summary, input:not([type=hidden]), [role=button]")];
    const onPage = (box) => box.width > 0 && box.height > 0 && box.right > 0 && box.left < innerWidth;
    const isWithinText = (link) => {
      const words = link.closest("p, li, td, th, dd, figcaption, caption")?.textContent.trim() ?? "";
      return link.tagName === "A" && getComputedStyle(link).display === "inline" && words.length > link.textContent.trim().length;
    };
    const boxes = controls.filter(isVisible).map((control) => [control, control.getBoundingClientRect()]).filter(([, box]) => onPage(box));
    for (const [control, box] of boxes) {
      if ((box.width >= 24 && box.height >= 24) || isWithinText(control)) continue;
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      const isNear = ([other, at]) => {
        const [dx, dy] = [Math.max(at.left - x, 0, x - at.right), Math.max(at.top - y, 0, y - at.bottom)];
        return !control.contains(other) && !other.contains(control) && Math.hypot(dx, dy) < 12;
      };
      if (boxes.some(isNear)) {
        const name = shorten(control.textContent || control.getAttribute("aria-label") || control.id);
        problems.push(`a tap target of ${box.width.toFixed(0)} × ${box.height.toFixed(0)} px is close to another: "${name}"`);
      }
    }
  };

  [overflow, labels, scales, words, sizes, contrast, headings, pictures, head, targets].forEach((check) => check());
  return [...new Set(problems)];
}
