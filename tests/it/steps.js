// What a reader of the Insert Benchmark's report does: follows a link, switches styles, sorts and filters.
const told = {};
const tell = (name, value) => { told[name] = value; };
const shown = (element) => element.getClientRects().length > 0;
const styles = () => ["style-marked", "style-published"].map((name) => shown(document.querySelector("." + name)));
const form = document.querySelector("form.styling");
const set = (name, value) => {
  form.elements[name].value = value;
  form.elements[name].dispatchEvent(new Event("input", { bubbles: true }));
};
const tables = [...document.querySelectorAll(".style-marked table")];
const names = (table) => [...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[0].textContent);
tell("tables", tables.length);
tell("heads", [...tables[0].tHead.rows[0].cells].map((cell) => cell.textContent));
tell("targets", [...tables[2].tBodies[0].rows].at(-1).textContent);
tell("before", styles());
set("colours", "published");
tell("published", [styles(), document.body.classList.contains("published"), document.querySelector("form.switches").elements.colours.value]);
set("colours", "");
tell("after", styles());
const rates = () => [...tables[0].tBodies[0].rows].map((row) => Number.parseFloat(row.cells[1].textContent));
const button = () => tables[0].tHead.rows[0].cells[1].querySelector("button.sort");
button().click();
tell("ascending", rates());
button().click();
tell("descending", rates());
button().click();
const inserts = tables[2].tHead.rows[0].cells[1].querySelector("button.sort");
inserts.click();
tell("targetLast", names(tables[2]).at(-1));
set("text", "wal");
tell("filtered", names(tables[2]));
set("text", "");
const steps = [...document.querySelectorAll("details[id^=step-]")];
tell("steps", steps.map((step) => step.id));
tell("closed", steps.every((step) => !step.open));
location.hash = "#step-qr1000";
window.addEventListener("hashchange", () => {
  tell("opened", document.getElementById("step-qr1000").open);
  steps.forEach((step) => { step.open = true; });
  const drawn = (svg) => [...svg.querySelectorAll("path")].map((path) => path.getTotalLength()).reduce((a, b) => a + b, 0);
  tell("charts", steps.map((step) => [...step.querySelectorAll("svg[role=img]")].map((svg) => [
    Number(svg.dataset.marks), drawn(svg), svg.querySelector("title").textContent,
  ])));
  tell("wide", document.documentElement.scrollWidth <= document.documentElement.clientWidth);
  const out = document.createElement("pre");
  out.id = "told";
  out.textContent = JSON.stringify(told);
  document.body.append(out);
});
