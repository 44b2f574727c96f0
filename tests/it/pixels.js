// What the pixels of a chart are, sorted by what they can be. Colors are looked up in the page, so the
// same questions are asked of light pages, dark pages and paper.
window.pixels = (() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (text) => {
    canvas.canvas.width = 1;
    canvas.canvas.height = 1;
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const figures = () => [...document.querySelectorAll("figure[data-chart]")];
  const variable = (element, name) => rgb(getComputedStyle(element).getPropertyValue(name).trim());
  const distance = (a, b) => Math.max(...[0, 1, 2].map((i) => Math.abs(a[i] - b[i])));
  const mixed = (top, below, share) => [0, 1, 2].map((i) => Math.round(top[i] * share + below[i] * (1 - share)));

  const boxes = () => figures().map((figure) => {
    const { left, top, width, height } = figure.getBoundingClientRect();
    return { x: left + scrollX, y: top + scrollY, width, height };
  });

  const picture = async (url) => {
    const image = new Image();
    image.src = url;
    await image.decode();
    canvas.canvas.width = image.width;
    canvas.canvas.height = image.height;
    canvas.drawImage(image, 0, 0);
    return canvas.getImageData(0, 0, image.width, image.height);
  };

  // Counts over one drawing: paper, the colors of its marks, what is fainter than text, the rest.
  const sorted = (data, box, { paper, ink, series }) => {
    const counts = { area: 0, paper: 0, series: series.map(() => 0), faint: 0, strong: 0 };
    const limit = distance(paper, ink) * 0.35;
    const kind = (color) => {
      if (distance(color, paper) < 3) return "paper";
      const own = series.findIndex((other) => distance(color, other) < 24);
      return own >= 0 ? own : distance(color, paper) < limit ? "faint" : "strong";
    };
    const pixels = new Uint32Array(data.data.buffer);
    const found = new Map();
    for (let y = Math.ceil(box.top); y < Math.floor(box.bottom); y += 1) {
      for (let x = Math.ceil(box.left); x < Math.floor(box.right); x += 1) {
        const color = pixels[y * data.width + x];
        found.set(color, (found.get(color) ?? 0) + 1);
      }
    }
    for (const [color, count] of found) {
      const sort = kind([color & 255, (color >> 8) & 255, (color >> 16) & 255]);
      counts.area += count;
      if (typeof sort === "number") counts.series[sort] += count;
      else counts[sort] += count;
    }
    return counts;
  };
  const pixel = (data, x, y) => {
    const at = (Math.floor(y) * data.width + Math.floor(x)) * 4;
    return [...data.data.slice(at, at + 3)];
  };

  const series = (svg, selector) => {
    const classes = new Map();
    for (const mark of svg.querySelectorAll(selector)) {
      const text = getComputedStyle(mark).getPropertyValue("--c").trim();
      if (text) classes.set(text, (classes.get(text) ?? 0) + 1);
    }
    return classes;
  };

  // Cells have the background that their class names, beside their words.
  const heat = (data, figure, origin) => {
    const cells = [...figure.querySelectorAll("tbody td[class]")];
    const shown = figure.querySelector(".wide").getBoundingClientRect();
    const missing = cells.filter((cell) => {
      const box = cell.getBoundingClientRect();
      const color = getComputedStyle(cell).backgroundColor;
      if (!box.width || box.right > shown.right || /, 0\)$/.test(color)) return false;
      return distance(pixel(data, box.left - origin.left + 2, box.top - origin.top + 2), rgb(color)) > 3;
    }).map((cell) => cell.className);
    const painted = cells.map((cell) => getComputedStyle(cell).backgroundColor).filter((color) => !/, 0\)$/.test(color));
    return { area: cells.length, paper: 0, series: [painted.length], faint: 0, strong: 0, missing };
  };

  // Bars that stand: their grid is known from its lines.
  const columns = (data, svg, origin) => {
    const box = svg.getBoundingClientRect();
    const shown = svg.closest(".wide").getBoundingClientRect();
    const moved = { left: box.left - origin.left, right: Math.min(box.right, shown.right) - origin.left, top: box.top - origin.top, bottom: box.bottom - origin.top };
    const [paper, ink] = [variable(svg, "--paper"), variable(svg, "--ink")];
    const classes = series(svg, ".bar");
    const counts = sorted(data, moved, { paper, ink, series: [...classes.keys()].map(rgb) });
    const missing = [...svg.querySelectorAll(".grid, .one")].filter((line) => {
      const [x, y] = ["x1", "y1"].map((name) => Number(line.getAttribute(name)));
      return ![-1, 0, 1].some((dy) => distance(pixel(data, moved.left + x + 3, moved.top + y + dy), paper) > 6);
    }).map((line) => line.getAttribute("y1"));
    return { ...counts, missing, marks: [...classes.values()] };
  };

  // The grid's places are known from the words under it.
  const strip = (data, svg, figure, origin) => {
    const box = svg.getBoundingClientRect();
    const moved = { left: box.left - origin.left, right: box.right - origin.left, top: box.top - origin.top, bottom: box.bottom - origin.top };
    const [paper, ink] = [variable(svg, "--paper"), variable(svg, "--ink")];
    const classes = series(svg, "circle, rect");
    const counts = sorted(data, moved, { paper, ink, series: [...classes.keys()].map(rgb) });
    const words = [...figure.querySelectorAll(".axis")].at(0).querySelectorAll("text");
    const places = [...words].map((word) => ({ word: word.textContent, x: moved.left + Number.parseFloat(word.getAttribute("x")) / 100 * box.width }));
    // The top row of pixels is above all marks.
    const differs = (x) => [-1, 0, 1].some((dx) => {
      const found = pixel(data, Math.min(moved.right - 1, Math.max(moved.left, x + dx)), moved.top + 1);
      return distance(found, paper) > 6 && distance(found, ink) > 6;
    });
    const missing = places.filter(({ x }) => !differs(x)).map(({ word }) => word);
    const one = places.find(({ word }) => word === "1");
    // In the band and beside the line at 1; beyond its end there is none. A narrow one is all edge.
    const own = figure.querySelector("defs .margin");
    const half = own ? Number.parseFloat(own.getAttribute("width")) / 200 * box.width : 0;
    const shaded = (x) => distance(pixel(data, x, moved.top + 1), mixed(ink, paper, 0.09)) < 4;
    const band = half < 5 ? null : shaded(one.x + 3) && shaded(one.x - 3) && !shaded(one.x + half + 3);
    return { ...counts, missing, band, marks: [...classes.values()] };
  };

  const lines = (data, svg, origin) => {
    const box = svg.getBoundingClientRect();
    const moved = { left: box.left - origin.left, right: box.right - origin.left, top: box.top - origin.top, bottom: box.bottom - origin.top };
    const [paper, ink] = [variable(svg, "--paper"), variable(svg, "--ink")];
    const scale = box.width / svg.viewBox.baseVal.width;
    const groups = [...svg.querySelectorAll(".line")];
    const own = groups.map((group) => variable(group, "--c"));
    const counts = sorted(data, moved, { paper, ink, series: own });
    const lengths = groups.map((group) => [...group.querySelectorAll("path:not(.gap)")].reduce((sum, path) => sum + path.getTotalLength() * scale, 0));
    const missing = [...svg.querySelectorAll(".grid")].filter((line) => {
      const y = moved.top + Number(line.getAttribute("y1")) * scale;
      const left = moved.left + Number(line.getAttribute("x1")) * scale;
      const right = moved.left + Number(line.getAttribute("x2")) * scale;
      let hits = 0;
      for (let x = left; x < right; x += 1) hits += [-1, 0, 1].some((dy) => distance(pixel(data, x, y + dy), paper) > 6) ? 1 : 0;
      return hits < 0.9 * (right - left);
    }).map((line) => line.getAttribute("y1"));
    return { ...counts, missing, lengths };
  };

  const read = async (url, index) => {
    const figure = figures()[index];
    const bounds = figure.getBoundingClientRect();
    // The picture begins at whole pixels.
    const origin = { left: Math.floor(bounds.left), top: Math.floor(bounds.top + scrollY) - scrollY };
    const data = await picture(url);
    const drawings = [...figure.querySelectorAll("svg[role=img]")];
    const kind = figure.dataset.chart;
    if (kind === "heat") return { kind, form: figure.className, drawings: [heat(data, figure, origin)] };
    return {
      kind, form: figure.className,
      drawings: drawings.map((svg) => {
        if (kind === "columns") return columns(data, svg, origin);
        return kind === "forest" ? strip(data, svg, figure, origin) : lines(data, svg, origin);
      }),
    };
  };
  // What the buttons of a chart save: its text, and how many pixels of each series it paints.
  const saved = async (index, kind) => {
    const figure = figures()[index];
    const make = URL.createObjectURL;
    const made = new Promise((done) => { URL.createObjectURL = (blob) => { done(blob); return "#saved"; }; });
    [...figure.querySelectorAll(".files button")].find((button) => button.textContent === kind).click();
    const blob = await made;
    URL.createObjectURL = make;
    const reader = new FileReader();
    const url = await new Promise((done) => { reader.onload = () => done(reader.result); reader.readAsDataURL(blob); });
    const data = await picture(url);
    const [paper, ink] = [variable(figure, "--paper"), variable(figure, "--ink")];
    const classes = [...figure.querySelectorAll("svg[role=img]")].flatMap((svg) => [...series(svg, "circle, rect, path").keys()]);
    const box = { left: 0, top: 0, right: data.width, bottom: data.height };
    const counts = sorted(data, box, { paper, ink, series: [...new Set(classes)].map(rgb) });
    return { ...counts, type: blob.type, text: kind === "SVG" ? await blob.text() : "" };
  };
  return { boxes, read, saved };
})();
