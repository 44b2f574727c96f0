// What can be asked of an open report. Numbers are read from what is shown, not from the page's own data.
window.looks = (() => {
  const all = (where, what) => [...where.querySelectorAll(what)];
  const input = (field, value) => {
    field.value = value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  };
  // Tables with a form that filters them: the switches' own table, or the sheets below a styling form.
  const tables = () => [
    ...all(document, "form.switches").map((form) => ({ form, table: document.getElementById(`${form.dataset.table}-table`) })),
    ...all(document, "form.styling").map((form) => ({ form, table: form.parentElement.querySelector("table.sortable") })),
  ];
  const rows = (table) => all(table, "tbody tr").filter((row) => row.cells.length > 1);
  const name = (row) => row.cells[0].firstChild.textContent.trim();
  const visible = (table) => rows(table).filter((row) => !row.hidden && row.cells[0].textContent !== "target");
  const number = (row, column) => Number.parseFloat(row.cells[column].firstChild?.textContent);

  // Whether a filter shows exactly the rows that it should.
  const filtered = ({ form, table }) => {
    const before = visible(table);
    const word = name(before[before.length >> 1]);
    const fits = before.filter((row) => row.cells[0].textContent.toLowerCase().includes(word.toLowerCase()));
    input(form.elements.text, word);
    const shown = visible(table);
    input(form.elements.text, "no such test");
    const none = visible(table).length;
    input(form.elements.text, "");
    return shown.length === fits.length && shown.every((row) => fits.includes(row)) && none === 0
      && visible(table).length === before.length;
  };

  // Whether a filter by verdict shows exactly the rows that have it, in the columns that are shown.
  const judged = ({ form, table }) => {
    const field = form.elements.standing;
    if (!field) return true;
    const before = visible(table);
    const has = (row, wanted) => [...row.cells].some((cell) => !cell.hidden && cell.dataset.s === wanted);
    const did = [...field.options].filter((option) => option.value).map(({ value }) => {
      input(field, value);
      const [shown, fits] = [visible(table), before.filter((row) => has(row, value))];
      return shown.length === fits.length && shown.every((row) => fits.includes(row));
    });
    input(field, "");
    return did.length > 0 && did.every(Boolean) && visible(table).length === before.length;
  };

  // Whether the chooser of each comparison hides a variant's columns, and the verdicts in them.
  const chosen = () => all(document, "details.choose").map((chooser) => {
    const article = chooser.closest("article");
    const boxes = all(chooser, ".boxes label");
    const toggle = (label) => label.querySelector("input").click();
    const heads = (label) => all(article, "th[data-variant]").filter((th) => th.dataset.variant === label.title);
    const hidden = (th) => [...th.closest("table").rows].filter((row) => row.cells.length > th.cellIndex)
      .every((row) => row.cells[th.cellIndex].hidden);
    const own = boxes.at(-1);
    toggle(own);
    const gone = heads(own).length > 0 && heads(own).every(hidden) && boxes.slice(0, -1).flatMap(heads).every((th) => !th.hidden);
    const left = tables().every(judged);
    toggle(own);
    return gone && left && heads(own).every((th) => !th.hidden);
  });

  // Whether a column is in order: numbers first, what has none after them.
  const ordered = (table, column, turn) => {
    const shown = visible(table).map((row) => number(row, column));
    const known = shown.filter((value) => !Number.isNaN(value));
    return shown.slice(known.length).every(Number.isNaN)
      && known.every((value, index) => index === 0 || turn * (value - known[index - 1]) >= 0);
  };
  const sorted = ({ table }) => {
    const before = visible(table);
    const column = table.tHead.rows[0].cells.length - 1;
    const head = table.tHead.rows[0].cells[column];
    const button = head.querySelector("button.sort");
    const did = [];
    for (const [direction, turn] of [["ascending", 1], ["descending", -1]]) {
      button.click();
      did.push(head.getAttribute("aria-sort") === direction && ordered(table, column, turn) && visible(table).length === before.length);
    }
    button.click();
    did.push(visible(table).every((row, index) => row === before[index]));
    return did.every(Boolean);
  };

  // Points that a chart draws, counted from its shapes.
  const points = (svg) => {
    if (svg.classList.contains("strip")) return all(svg, "circle, rect:not(.margin), .broken").length;
    if (svg.closest("figure.columns")) return all(svg, ".bar, .broken").length;
    const paths = all(svg, ".line path:not(.gap)").map((path) => path.getAttribute("d").match(/[ML]/g).length);
    // Short segments are drawn as a line and as dots.
    const twice = paths.filter((count) => count <= 3);
    const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
    return sum(paths) + all(svg, ".line circle:not(.peak)").length - sum(twice);
  };
  // Charts with nothing in them, with less in them than they say, or without words.
  const charts = () => {
    const found = all(document, "svg[role=img]");
    const said = (svg) => ["title", "desc"].every((part) => svg.querySelector(`:scope > ${part}`)?.textContent.trim());
    const broken = found.filter((svg) => !(Number(svg.dataset.marks) > 0) || points(svg) !== Number(svg.dataset.marks) || !said(svg)
      || /NaN|Infinity/.test(svg.innerHTML));
    const lines = found.filter((svg) => !svg.classList.contains("strip")).length;
    return { strips: found.length - lines, lines, broken: broken.map((svg) => svg.outerHTML.slice(0, 300)) };
  };

  // Colors as they are shown.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colours = new Map();
  const rgba = (text) => {
    if (!colours.has(text)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = text;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      colours.set(text, [r, g, b, a / 255]);
    }
    return colours.get(text);
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((value) => value / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  // The colors that lie behind an element; a pattern has several.
  const behind = (element, known) => {
    if (!element) return [[255, 255, 255, 1]];
    if (!known.has(element)) {
      const style = getComputedStyle(element);
      const below = behind(element.parentElement, known);
      const plain = below.map((colour) => over(rgba(style.backgroundColor), colour));
      const drawn = (style.backgroundImage.match(/(?:rgba?|color)\([^)]*\)/g) || []).map(rgba);
      known.set(element, [...plain, ...drawn.flatMap((colour) => plain.map((under) => over(colour, under)))]);
    }
    return known.get(element);
  };
  const solid = (element) => (element ? Number(getComputedStyle(element).opacity) * solid(element.parentElement) : 1);
  const readable = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
    && !element.closest("option, optgroup, script, style, title, desc, noscript, .aside, legend");
  // The texts whose contrast is below 4.5 : 1, one of each kind.
  const faint = () => {
    const known = new Map();
    const found = new Map();
    let count = 0;
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.textContent.trim() || !readable(element)) continue;
      count += 1;
      const style = getComputedStyle(element);
      const full = rgba(element.closest("svg") ? style.fill : style.color);
      const ink = [...full.slice(0, 3), full[3] * solid(element)];
      const least = Math.min(...behind(element, known).map((colour) => contrast(over(ink, colour), colour)));
      if (least < 4.5) {
        const kind = `${element.tagName}.${element.getAttribute("class") ?? ""} in ${element.parentElement.className?.baseVal ?? element.parentElement.className}`;
        found.set(kind, `${kind}: ${least.toFixed(2)}, "${walker.currentNode.textContent.trim().slice(0, 30)}"`);
      }
    }
    return { count, faint: [...found.values()] };
  };

  // What has the focus, and whether a reader sees that it has it.
  const focus = () => {
    const element = document.activeElement;
    const style = getComputedStyle(element);
    const kinds = [
      ["skip", ".skip"], ["filter", "input[type=search]"], ["sort", "th button.sort"], ["row", "tr a.link"], ["fold", "summary"],
      ["section", "h2 a.link"], ["scroll", ".wide"], ["save", "button[data-save]"],
    ];
    const kind = kinds.find(([, selector]) => element.matches(selector))?.[0] ?? element.tagName.toLowerCase();
    const seen = style.outlineStyle !== "none" && element.checkVisibility({ opacityProperty: true });
    return [kind, seen || element === document.body];
  };
  // After Enter on a button that sorts.
  const pressed = () => {
    const head = document.activeElement.closest("th");
    const table = head.closest("table");
    return head.getAttribute("aria-sort") === "ascending" && (head.cellIndex === 0 || ordered(table, head.cellIndex, 1));
  };
  // After typing into a filter: whether what is shown has the text, and something else is gone.
  const typed = () => {
    const field = document.activeElement;
    const { table } = tables().find(({ form }) => form === field.form);
    const shown = visible(table);
    return shown.length > 0 && shown.every((row) => row.cells[0].textContent.toLowerCase().includes(field.value.toLowerCase()));
  };
  const word = () => {
    const { table } = tables().find(({ form }) => form === document.activeElement.form);
    return name(visible(table).at(-1));
  };

  const wide = () => {
    const page = document.documentElement;
    return [page.scrollWidth, page.clientWidth, document.body.scrollWidth];
  };
  // Tables that scroll sideways and whose names of rows go away with it.
  const lost = () => all(document, ".wide").filter((box) => {
    if (!box.checkVisibility() || box.scrollWidth <= box.clientWidth + 1) return false;
    box.scrollLeft = box.scrollWidth;
    const edge = box.getBoundingClientRect();
    const heads = all(box, "tbody th[scope=row], tbody td:first-child").filter((head) => head.checkVisibility());
    const away = heads.some((head) => head.getBoundingClientRect().right <= edge.left + 8);
    box.scrollLeft = 0;
    return away;
  }).map((box) => box.querySelector("table").className + ": " + box.textContent.slice(0, 60));
  const printed = () => {
    const hidden = (selector) => all(document, selector).every((element) => !element.checkVisibility());
    return {
      switches: hidden("nav.contents, form, .scripted, .skip, a.link"),
      paper: rgba(getComputedStyle(document.body).backgroundColor),
      cut: all(document, ".wide, pre").filter((box) => box.checkVisibility() && getComputedStyle(box).overflowX !== "visible").length,
    };
  };
  // Tables of many columns are printed across, and only there as they are to be.
  const lies = (head) => matchMedia("print").matches && innerWidth < 1000 && head.closest("table.many");
  // Words of table heads and of names of rows that are broken within: a word has one line.
  const broken = () => {
    const found = new Set();
    for (const head of all(document, "th")) {
      if (!head.checkVisibility() || lies(head)) continue;
      const walker = document.createTreeWalker(head, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const node = walker.currentNode;
        for (const word of node.textContent.matchAll(/[^\s.\-_]+/g)) {
          const range = document.createRange();
          range.setStart(node, word.index);
          range.setEnd(node, word.index + word[0].length);
          const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
          if (lines.size > 1) found.add(word[0]);
        }
      }
    }
    return [...found];
  };
  // Heads whose text is wider than they are: it would lie over the next one.
  const wideHeads = () => all(document, "thead th").filter((head) => head.checkVisibility() && !lies(head) && head.scrollWidth > head.clientWidth + 1)
    .map((head) => head.textContent);
  const open = () => all(document, "details").forEach((fold) => { fold.open = true; });
  const paint = (colours) => all(document, "select[name=colours]").slice(0, 1).forEach((field) => input(field, colours));
  const counts = () => ({ tables: tables().length, rows: tables().map(({ table }) => rows(table).length), links: all(document, "tr[data-row] a.link").length });
  return {
    filtered: () => tables().map(filtered), judged: () => tables().map(judged), chosen, sorted: () => tables().map(sorted),
    charts, faint, broken, wideHeads, focus, pressed, typed, word, wide, lost, printed, open, paint, counts,
  };
})();
