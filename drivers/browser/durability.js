"use strict";

// The class of durability that one kill of the browser while a page committed leaves possible. Chance has a part in it: browsers write
// localStorage seconds later, so a kill may come after that. The weakest class of all trials is reported. A power cut is not measured, and
// these classes promise nothing of it.
function durability({ isWhole, entries, integrity }, acknowledged, journal) {
  if (integrity !== "ok") throw new Error(`a kill of the browser damaged the database: ${integrity}`);
  if (!isWhole || entries < acknowledged) return "buffered";
  return ["off", "memory"].includes(journal) ? "torn" : "process";
}

module.exports = { durability };
