"use strict";
// Tables are complete without this script; it only lets a reader sort them, and search long ones.
const LONG = 30;
const search = (table) => {
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = `search ${table.tBodies[0].rows.length} rows`;
  field.setAttribute("aria-label", field.placeholder);
  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  table.parentElement.before(field);
};
for (const table of document.querySelectorAll("table.sortable, .heat table"))
  if (table.tBodies[0].rows.length > LONG) search(table);
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  const key = (row, column) => {
    const cell = row.cells[column];
    const number = cell.dataset.v;
    return number === undefined ? cell.textContent.trim() : Number(number);
  };
  const missing = (value) => value === "–" || value === "";
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].map((row) => [key(row, column), row]);
      // What has no figure stays at the end in either direction.
      rows.sort(([a], [b]) => missing(a) - missing(b) || (down ? compare(b, a) : compare(a, b)));
      body.append(...rows.map(([, row]) => row));
    });
  });
}
// On paper nothing can be opened.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details.print:not([open])")];
  opened.forEach((details) => (details.open = true));
});
addEventListener("afterprint", () => opened.forEach((details) => (details.open = false)));
// A link into a closed part opens it.
const reveal = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  const folded = target && target.querySelector(":scope > details.chapter");
  if (folded) folded.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();
// A table that is wider than the page becomes tighter; what is still wider scrolls beside its first column.
const fit = (part) => {
  const boxes = [...part.querySelectorAll(".scroll")];
  boxes.forEach((box) => box.classList.remove("tight"));
  const wide = boxes.filter((box) => box.scrollWidth > box.clientWidth);
  wide.forEach((box) => box.classList.add("tight"));
};
addEventListener("resize", () => fit(document));
addEventListener("toggle", (event) => fit(event.target), true);
fit(document);
