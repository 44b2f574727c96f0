// What a reader of a report does: presses the page's own switches and tells what came of it.
const told = {};
const tell = (name, value) => { told[name] = value; };
const table = document.querySelector("table.grid");
const rows = () => [...table.querySelectorAll("tr[data-row]")].filter((row) => !row.hidden);
const names = () => rows().map((row) => row.cells[0].firstChild.textContent.trim());
const last = () => rows().map((row) => row.cells[row.cells.length - 1].firstChild.textContent);
const form = document.querySelector("form.switches");
const set = (name, value) => {
  const field = form.elements[name];
  field.value = value;
  (field instanceof RadioNodeList ? field[0] : field).dispatchEvent(new Event("input", { bubbles: true }));
};
const sort = (column) => table.tHead.rows[0].cells[column].querySelector("button.sort").click();
tell("all", names());
// What the script made of the intervals is what the page had.
tell("asides", [...table.querySelectorAll("td .aside")].map((aside) => aside.textContent));
set("text", "insert");
tell("filtered", names());
set("text", "no such test");
tell("empty", [names().length, document.querySelector("p.empty").hidden]);
set("text", "");
set("standing", "better");
tell("better", last());
set("standing", "");
sort(2);
tell("ascending", last());
tell("aria", table.tHead.rows[0].cells[2].getAttribute("aria-sort"));
sort(2);
tell("descending", last());
sort(2);
tell("unsorted", names());
tell("relative", last());
set("form", "absolute");
tell("absolute", last());
set("form", "relative");
const metric = [...form.elements.metric.options].find((option) => option.text.startsWith("client CPU"));
set("metric", metric.value);
tell("caption", table.caption.textContent);
tell("units", [...table.tHead.rows[0].cells].slice(1).map((head) => head.querySelector(".unit").textContent));
// Under every metric each cell that lacks a number has a footnote, and the footnote is there.
const footnotes = [...form.elements.metric.options].map((option) => {
  set("metric", option.value);
  const cells = [...table.querySelectorAll("td.failed, td.missed, td.invalid, td.missing")];
  const refs = [...table.querySelectorAll("td a.ref")];
  const dead = refs.filter((ref) => !document.getElementById(ref.hash.slice(1))?.textContent);
  return [cells.filter((cell) => cell.title !== "").length, refs.length, dead.length];
});
tell("footnotes", footnotes);
set("metric", metric.value);
set("colours", "published");
tell("published", document.body.classList.contains("published"));
const saved = [];
URL.createObjectURL = (blob) => { saved.push(blob); return "#saved"; };
for (const button of document.querySelectorAll("button[data-save]")) button.click();
tell("kinds", saved.map((blob) => blob.type));
const charts = [...document.querySelectorAll("svg[role=img]")];
tell("charts", charts.map((svg) => [
  Number(svg.dataset.marks),
  svg.querySelectorAll("circle, path, rect.bar, .broken").length,
  svg.querySelector("title").textContent.length > 0 && svg.querySelector("desc").textContent.length > 0,
]));
tell("requests", performance.getEntriesByType("resource").map((entry) => entry.name));
tell("wide", document.documentElement.scrollWidth <= document.documentElement.clientWidth);
// On paper everything is open, and afterwards as it was.
const folds = () => [...document.querySelectorAll("details")].map((part) => part.open);
const before = folds();
dispatchEvent(new Event("beforeprint"));
const printed = folds();
dispatchEvent(new Event("afterprint"));
tell("folds", [before.some((open) => !open), printed.every((open) => open), folds().every((open, at) => open === before[at])]);
const finish = (csv) => {
  tell("csv", csv.split("\r\n").map((line) => line.split(",").length));
  const out = document.createElement("pre");
  out.id = "told";
  out.textContent = JSON.stringify(told);
  document.body.append(out);
};
saved.find((blob) => blob.type === "text/csv").text().then(finish);
