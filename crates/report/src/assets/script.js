"use strict";
// Switches, sorting, filtering and saving. The page is complete without it: everything here only
// rearranges what the page holds, and writes texts as texts.
const save = (blob, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

(() => {
  document.documentElement.classList.add("js");
  const [VALUE, RATIO, LOW, HIGH, VERDICT, KIND, NOTE] = [0, 1, 2, 3, 4, 5, 6];
  const STEPS = [1.02, 1.05, 1.10, 1.25, 1.5, 2.0];
  const SYMBOLS = {
    regression: "▼", improvement: "▲", worse: "▾", better: "▴", small_change: "≈",
    equivalent: "=", inconclusive: "?", code_cost: "△", unreplicated: "°",
    invalid: "!",
  };
  const STANDINGS = {
    regression: "worse", code_cost: "worse", worse: "worse", improvement: "better",
    better: "better", equivalent: "same", small_change: "same", inconclusive: "undecided",
  };
  const grids = new Map();

  const grid = (id) => {
    if (!grids.has(id)) grids.set(id, JSON.parse(document.getElementById(id).textContent));
    return grids.get(id);
  };

  // Half between two goes to the even one, as in the page's static tables.
  const fixed = (value, digits) => {
    if (Math.abs((value * 2 ** (digits + 1)) % 2) !== 1) return value.toFixed(digits);
    const low = Math.floor(value * 10 ** digits);
    return ((low % 2 === 0 ? low : low + 1) / 10 ** digits).toFixed(digits);
  };

  // The same rounding as in the page's static tables.
  const shown = (value) => {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size >= 99.95) return fixed(value, 0);
    if (size >= 9.995) return fixed(value, 1);
    if (size >= 0.9995) return fixed(value, 2);
    if (size >= 0.0005) return fixed(value, 3);
    return value.toExponential(0);
  };

  const ratioShown = (ratio) => {
    if (ratio > 0 && ratio < 0.00995) return shown(ratio);
    if (ratio >= 99.95) return fixed(ratio, 0);
    return fixed(ratio, ratio >= 9.995 ? 1 : 2);
  };

  const gain = (ratio, better) => (better === "lower" ? 1 / ratio : ratio);

  const heat = (ratio, better) => {
    if (better === "neither" || ratio === null) return [];
    const own = gain(ratio, better);
    const size = own >= 1 ? own : 1 / own;
    const step = STEPS.filter((least) => size >= least).length;
    const classes = step > 0 ? [(own >= 1 ? "b" : "w") + step] : [];
    const percent = Math.round(own * 100);
    if (percent > 105) classes.push("pb");
    if (percent < 95) classes.push("py");
    return classes;
  };

  const standing = (cell, kind, verdict, { better, margin }) => {
    if (kind === "base") return "";
    if (kind !== "ratio") return "nothing";
    if (STANDINGS[verdict]) return STANDINGS[verdict];
    if (verdict === "invalid") return "undecided";
    if (better === "neither") return "same";
    const own = gain(cell[RATIO], better);
    return own > margin ? "better" : own < 1 / margin ? "worse" : "same";
  };

  // The words of the page's own cells.
  const interval = (low, high) => {
    // Two decimals would hide on which side of a margin an end is.
    const isNear = [low, high].every((end) => end >= 0.95 && end <= 1.05);
    const end = (ratio) => {
      if (ratio < 0.01) return "below 0.01";
      if (ratio > 100) return "above 100";
      return isNear ? fixed(ratio, 3) : ratioShown(ratio);
    };
    return `95 % interval ${end(low)} to ${end(high)}`;
  };

  const place = (ratio) => {
    const at = ratio > 0 ? 0.5 + Math.log(ratio) / Math.log(2) / 2 : 0;
    return Math.round(Math.min(1, Math.max(0, at)) * 100);
  };

  // Characters that steer or reorder are shown and not obeyed.
  const STEERING = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  const harmless = (text) => text.replace(STEERING, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);

  // A sentence; what stands between backticks becomes code.
  const prose = (text) => {
    const parts = harmless(text).split("`");
    if (parts.length % 2 === 0) return [harmless(text)];
    return parts.map((part, index) => {
      if (index % 2 === 0) return part;
      const code = document.createElement("code");
      code.textContent = part;
      return code;
    });
  };

  // Why a cell has no number to compare, if it has none: these are the footnotes of the table.
  const noted = (cell, data) => {
    const kind = data.words[cell[KIND]];
    return kind === "base" || kind === "ratio" ? "" : data.words[cell[NOTE]];
  };

  const fill = (td, cell, data, metric, form) => {
    const kind = data.words[cell[KIND]];
    const verdict = data.words[cell[VERDICT]];
    const note = data.words[cell[NOTE]];
    const absolute = form === "absolute" && cell[VALUE] !== null;
    td.className = "";
    td.removeAttribute("style");
    td.dataset.s = standing(cell, kind, verdict, metric);
    // What is not decided has no color of a change.
    const open = verdict === "inconclusive" || verdict === "invalid";
    if (kind !== "ratio") td.classList.add(kind);
    else if (!open) td.classList.add(...heat(cell[RATIO], metric.better));
    let text = "–";
    if (kind === "failed" || kind === "missed") text = kind;
    else if (absolute || kind === "base") text = shown(cell[VALUE]);
    else if (kind === "ratio") text = ratioShown(cell[RATIO]);
    else if (kind === "invalid") text = "no ratio";
    td.textContent = text;
    const known = cell[LOW] !== null && cell[HIGH] !== null;
    if (kind === "ratio" && known && cell[LOW] < 2 && cell[HIGH] > 0.5) {
      td.classList.add("span");
      td.style.setProperty("--l", Math.min(98, place(cell[LOW])) + "%");
      td.style.setProperty("--r", Math.min(98, 100 - place(cell[HIGH])) + "%");
    }
    if (SYMBOLS[verdict] && cell[RATIO] !== null) {
      const mark = document.createElement("i");
      mark.textContent = SYMBOLS[verdict];
      td.append(mark);
    }
    const parts = [];
    if (cell[VALUE] !== null) parts.push(shown(cell[VALUE]) + " " + metric.unit);
    if (cell[RATIO] !== null && absolute) parts.push(ratioShown(cell[RATIO]) + "x the base");
    const judged = [];
    if (known) judged.push(interval(cell[LOW], cell[HIGH]));
    if (STANDINGS[verdict]) judged.push(verdict.replace("_", " "));
    parts.push(...judged);
    if (note) parts.push(harmless(note));
    td.title = parts.join("; ");
    const said = [...judged];
    if (note && !noted(cell, data)) said.push(harmless(note));
    if (said.length > 0) {
      const aside = document.createElement("span");
      aside.className = "aside";
      aside.textContent = ` (${said.join("; ")})`;
      td.append(aside);
    }
    td.dataset.order = String((absolute || kind === "base" ? cell[VALUE] : cell[RATIO]) ?? "");
  };

  // What a head says beside its unit.
  const named = (head) =>
    [...head.childNodes].filter((node) => !(node.classList && node.classList.contains("unit")));

  // A button in a head, which turns through ascending, descending and the order of the page.
  const NEXT = { "": "ascending", ascending: "descending", descending: "" };
  const buttons = (heads, sorted, sort) => heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.title = "Sort by this column";
    if (!head.querySelector(".name")) {
      const name = document.createElement("span");
      name.className = "name";
      name.append(...named(head));
      head.prepend(name);
    }
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const before = sorted.column === column ? sorted.direction : "";
      sorted.column = column;
      sorted.direction = NEXT[before];
      heads.forEach((other, index) => {
        if (index === column && sorted.direction) other.setAttribute("aria-sort", sorted.direction);
        else other.removeAttribute("aria-sort");
      });
      sort();
    });
  });

  // Rows by the text or the number of a cell; what has neither comes last.
  const ordered = (rows, sorted, key) => {
    const turn = sorted.direction === "ascending" ? 1 : -1;
    return [...rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (typeof x === "string") return turn * x.localeCompare(y, "en", { numeric: true });
      if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
      return turn * (x - y);
    });
  };

  const paint = (colours) => {
    document.body.classList.toggle("published", colours === "published");
    for (const other of document.querySelectorAll("select[name=colours]")) other.value = colours;
  };

  for (const form of document.querySelectorAll("form.switches")) {
    const id = form.dataset.grid;
    const own = form.dataset.table;
    const table = document.getElementById(own + "-table");
    const heads = [...table.tHead.rows[0].cells];
    // The table shows some columns of the values: those of one base.
    const places = heads.slice(1).map((head) => Number(head.dataset.column));
    const groups = [...table.tBodies];
    const rows = [...table.querySelectorAll("tr[data-row]")];
    const homes = rows.map((row) => row.parentElement);
    const field = (name) => form.elements[name];
    const firstMetric = table.dataset.metric;
    const sorted = { column: -1, direction: "" };
    field("metric").value = firstMetric;
    field("colours").value = document.body.classList.contains("published") ? "published" : "";

    const draw = () => {
      const data = grid(id);
      const index = Number(field("metric").value);
      const metric = data.metrics[index];
      const how = field("form").value;
      const lineOf = (row) => places.map((place) => data.values[index][Number(row.dataset.row)][place]);
      const notes = [...new Set(rows.flatMap(lineOf).map((cell) => noted(cell, data)))].filter((note) => note);
      for (const row of rows) {
        lineOf(row).forEach((cell, column) => {
          const td = row.cells[column + 1];
          fill(td, cell, data, metric, how);
          const number = notes.indexOf(noted(cell, data)) + 1;
          if (number === 0) return;
          const link = document.createElement("a");
          link.className = "ref";
          link.href = `#${own}-note-${number}`;
          link.textContent = String(number);
          td.append(link);
        });
      }
      const list = document.getElementById(own + "-notes");
      list.hidden = notes.length === 0;
      list.replaceChildren(...notes.map((note, place) => {
        const item = document.createElement("li");
        item.id = `${own}-note-${place + 1}`;
        item.append(...prose(note));
        return item;
      }));
      // The base may be one of the rows.
      const hasBase = (column) => data.columns[column][2] === 1
        || rows.some((row) => data.words[data.values[index][Number(row.dataset.row)][column][KIND]] === "base");
      heads.slice(1).forEach((head, column) => {
        const at = places[column];
        const absolute = how === "absolute" || data.columns[at][2] === 1;
        const ratio = metric.unit && hasBase(at) ? `ratio, of the base ${metric.unit}` : "ratio";
        head.querySelector(".unit").textContent = absolute ? metric.unit : ratio;
      });
      const relative = places.some(hasBase)
        ? "Absolute values of the base, then ratios to it." : "Ratios to the base.";
      const values = how === "absolute" ? "Absolute values." : relative;
      table.caption.textContent = `${metric.title}: ${metric.help}. ${values}`;
      table.dataset.metric = String(index);
    };

    const filter = () => {
      const text = field("text").value.trim().toLowerCase();
      const wanted = field("standing").value;
      let left = 0;
      for (const row of rows) {
        const fits = row.cells[0].textContent.toLowerCase().includes(text)
          && (wanted === "" || [...row.cells].some((cell) => !cell.hidden && cell.dataset.s === wanted));
        row.hidden = !fits;
        left += fits ? 1 : 0;
      }
      for (const body of groups) {
        const heading = body.querySelector("tr.group");
        if (heading) {
          heading.hidden = sorted.direction !== "" || ![...body.querySelectorAll("tr[data-row]")].some((row) => !row.hidden);
        }
      }
      table.parentElement.nextElementSibling.hidden = left > 0;
    };

    // Sorting looks across groups: the worst test is the worst of all.
    const sort = () => {
      if (!sorted.direction) {
        rows.forEach((row, index) => homes[index].append(row));
        return filter();
      }
      const key = (row) => {
        const cell = row.cells[sorted.column];
        if (sorted.column === 0) return cell.textContent;
        return cell.dataset.order ? Number(cell.dataset.order) : NaN;
      };
      ordered(rows, sorted, key).forEach((row) => groups[0].append(row));
      filter();
    };

    buttons(heads, sorted, sort);

    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => {
      const name = event.target.name;
      if (name === "colours") return paint(field("colours").value);
      if (name === "metric" || name === "form") {
        draw();
        sort();
      }
      filter();
    });
    draw();
    filter();
  }

  // Plain tables whose rows mean the same in any order. Targets stay at the end.
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const ends = rows.filter((row) => row.cells[0].textContent === "target");
    const sorted = { column: -1, direction: "" };
    buttons(heads, sorted, () => {
      const words = !heads[sorted.column].classList.contains("num");
      const key = (row) => {
        const cell = row.cells[sorted.column];
        return words ? cell.textContent : Number.parseFloat(cell.dataset.order ?? cell.textContent);
      };
      body.append(...(sorted.direction ? ordered(rows, sorted, key) : rows), ...ends);
    });
  }

  for (const form of document.querySelectorAll("form.styling")) {
    // The form of a flame graph looks like these and has no colors to choose.
    if (!form.elements.colours) continue;
    const rows = [...form.parentElement.querySelectorAll("tbody tr")];
    form.elements.colours.value = document.body.classList.contains("published") ? "published" : "";
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => {
      if (event.target.name === "colours") return paint(form.elements.colours.value);
      const text = form.elements.text.value.trim().toLowerCase();
      for (const row of rows) {
        const name = row.cells[0].textContent.toLowerCase();
        row.hidden = name !== "target" && !name.includes(text);
      }
    });
  }

  const element = (tag, properties, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  // Boxes to choose which variants the tables and heat maps of a comparison show.
  const choose = (article) => {
    const names = [...new Set([...article.querySelectorAll("th[data-variant]")].map((th) => th.dataset.variant))];
    const header = article.querySelector("header");
    if (!header || names.length < 3) return;
    const nameOf = (th) => th.dataset.variant ?? th.querySelector(".name")?.textContent
      ?? named(th).map((node) => node.textContent).join("");
    const columns = [];
    for (const table of article.querySelectorAll("table")) {
      const heads = table.tHead ? [...table.tHead.rows[table.tHead.rows.length - 1].cells] : [];
      heads.forEach((th, index) => {
        if (index > 0 && names.includes(nameOf(th))) columns.push([table, index, nameOf(th)]);
      });
    }
    const lines = [...article.querySelectorAll("table.plain tbody th[scope=row]")]
      .filter((th) => names.includes(th.textContent));
    const count = element("span", {});
    const boxes = names.map((name) => {
      const box = element("input", { type: "checkbox", checked: true });
      return [name, box, element("label", { title: name }, box, ` ${name}`)];
    });
    const apply = () => {
      const shown = new Set(boxes.filter(([, box]) => box.checked).map(([name]) => name));
      count.textContent = `Variants: ${shown.size} of ${names.length} shown`;
      for (const [table, index, name] of columns) {
        for (const row of table.rows) {
          if (row.cells.length > index) row.cells[index].hidden = !shown.has(name);
        }
      }
      for (const th of lines) {
        const [line, next] = [th.parentElement, th.parentElement.nextElementSibling];
        line.hidden = !shown.has(th.textContent);
        // The interval of a mean stands below it.
        if (next && next.cells[0].textContent.endsWith(" % interval")) next.hidden = line.hidden;
      }
      // A verdict is looked for in the columns that are shown.
      for (const form of article.querySelectorAll("form.switches")) form.dispatchEvent(new Event("input"));
    };
    const search = element("input", { type: "search", placeholder: "filter by name" });
    search.setAttribute("aria-label", "Filter variants by name");
    search.addEventListener("input", () => {
      const text = search.value.trim().toLowerCase();
      for (const [name, , label] of boxes) label.hidden = !name.toLowerCase().includes(text);
    });
    const all = (words, checked) => {
      const button = element("button", { type: "button", textContent: words });
      button.addEventListener("click", () => {
        for (const [, box, label] of boxes) if (!label.hidden) box.checked = checked;
        apply();
      });
      return button;
    };
    const controls = element("div", { className: "inner" }, search, all("Show these", true), all("Hide these", false));
    const list = element("div", { className: "boxes" }, ...boxes.map(([, , label]) => label));
    list.addEventListener("change", apply);
    header.append(element("details", { className: "choose" }, element("summary", {}, count), controls, list));
    apply();
  };

  const articles = [...document.querySelectorAll("article")];
  articles.forEach(choose);
  // With several comparisons in one page a box each in the contents.
  if (articles.length > 1) {
    document.querySelectorAll("nav.contents .experiment").forEach((item, index) => {
      const box = element("input", { type: "checkbox", checked: true });
      const label = element("label", {}, box, " ", ...item.childNodes);
      item.append(label);
      box.addEventListener("change", () => { articles[index].hidden = !box.checked; });
    });
  }
  // The index of several reports.
  for (const form of document.querySelectorAll("form.index")) {
    const rows = [...form.parentElement.querySelectorAll("tbody tr")];
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", () => {
      const text = form.elements.text.value.trim().toLowerCase();
      for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(text);
    });
  }

  const quoted = (value) => {
    let text = value === null || value === undefined ? "" : harmless(String(value));
    // A cell that a spreadsheet would take for a formula gets an apostrophe in front.
    if (typeof value === "string" && /^(\s*[=+\-@＝＋－＠]|[\t\r\n])/.test(text)) text = "'" + text;
    return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };

  const csv = (data) => {
    const head = [
      ...data.row_keys, ...data.column_keys, "group", "metric", "unit", "better",
      "value", "ratio", "ratio_low", "ratio_high", "verdict", "kind", "note",
    ];
    const lines = [head];
    data.metrics.forEach((metric, index) => data.rows.forEach((row, r) => data.columns.forEach((column, c) => {
      const cell = data.values[index][r][c];
      const words = [VERDICT, KIND, NOTE].map((place) => data.words[cell[place]]);
      lines.push([
        ...row[1], ...column[1], row[2], metric.name, metric.unit, metric.better, ...cell.slice(0, 4), ...words,
      ]);
    })));
    return lines.map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
  };

  for (const button of document.querySelectorAll("button[data-save]")) {
    button.addEventListener("click", () => {
      const data = grid(button.dataset.grid);
      const kind = button.dataset.save;
      const text = kind === "csv" ? csv(data) : JSON.stringify(data, null, 1) + "\n";
      const type = kind === "csv" ? "text/csv" : "application/json";
      save(new Blob([text], { type }), `${button.dataset.name || "dbdyno"}.${kind}`);
    });
  }

  // Paper cannot be unfolded: everything is open while the page is printed.
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const part of closed) part.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const part of closed) part.open = false;
    closed = [];
  });

  // A link into something that is folded opens it.
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    if (target) target.scrollIntoView();
  };
  if (location.hash) open();
  window.addEventListener("hashchange", open);
})();
