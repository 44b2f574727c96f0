// Charts as files. A chart is drawn anew as one SVG: its drawings with their looks as attributes, and
// the texts and colored cells around them where they are shown. A PNG is the same, painted.
(() => {
  const NAMESPACE = document.querySelector("svg")?.namespaceURI;
  const LOOKS = [
    "fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width", "stroke-dasharray", "stroke-linejoin", "opacity",
    "font-family", "font-size", "font-weight", "text-anchor", "paint-order", "shape-rendering",
  ];
  const ROOM = 14;
  // Points of a PNG for one of the page; fewer where a browser could not hold the picture.
  const SHARPNESS = 2;
  const MOST = 60e6;

  const made = (tag, attributes, text = "") => {
    const element = document.createElementNS(NAMESPACE, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.textContent = text;
    return element;
  };

  // A copy that needs no style sheet and refers to nothing.
  const inlined = (element) => {
    if (element.tagName === "use") return inlined(document.getElementById(element.getAttribute("href").slice(1)));
    const copy = element.cloneNode(false);
    for (const name of ["class", "id", "tabindex"]) copy.removeAttribute(name);
    const style = getComputedStyle(element);
    if (!["title", "desc"].includes(element.tagName)) {
      for (const name of LOOKS) copy.setAttribute(name, style.getPropertyValue(name));
      if (style.transform !== "none") copy.setAttribute("transform", style.transform);
      if (element.tagName === "circle") copy.setAttribute("r", style.r);
      if (element.tagName === "rect" && !element.hasAttribute("height")) copy.setAttribute("height", style.height);
    }
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) copy.append(child.cloneNode());
      else if (child.tagName !== "defs") copy.append(inlined(child));
    }
    return copy;
  };

  // The lines of a text as they are broken on the page.
  const lines = (node) => {
    const found = [];
    for (const word of node.textContent.matchAll(/\S+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const box = range.getBoundingClientRect();
      const last = found.at(-1);
      if (last && Math.abs(last.box.top - box.top) < 2) last.words += ` ${word[0]}`;
      else found.push({ box, words: word[0] });
    }
    return found;
  };

  const isShown = (element) => element.checkVisibility() && !element.closest(".aside, .files, svg");

  // Everything of a part of the page, relative to its own corner, and how large it is.
  const drawn = (part) => {
    const corner = part.getBoundingClientRect();
    const root = made("g", {});
    const size = { width: 0, height: corner.height };
    const at = (box) => {
      size.width = Math.max(size.width, box.right - corner.left);
      return { x: box.left - corner.left, y: box.top - corner.top };
    };
    for (const element of part.querySelectorAll("*")) {
      if (element instanceof SVGSVGElement) {
        const box = element.getBoundingClientRect();
        if (!box.width || !element.checkVisibility()) continue;
        const copy = inlined(element);
        const place = { ...at(box), width: box.width, height: box.height, overflow: "visible" };
        for (const [name, value] of Object.entries(place)) copy.setAttribute(name, value);
        root.append(copy);
      } else if (!(element instanceof SVGElement) && isShown(element)) {
        const color = getComputedStyle(element).backgroundColor;
        const box = element.getBoundingClientRect();
        if (!/, 0\)$|transparent/.test(color)) root.append(made("rect", { ...at(box), width: box.width, height: box.height, fill: color }));
      }
    }
    const walker = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!isShown(element)) continue;
      const style = getComputedStyle(element);
      const turned = style.writingMode.startsWith("vertical");
      for (const { box, words } of lines(walker.currentNode)) {
        const { x, y } = at(box);
        const size = Number.parseFloat(style.fontSize);
        const place = turned
          ? { transform: `translate(${x + box.width / 2 + size / 3} ${y + box.height}) rotate(-90)` }
          : { x, y: y + box.height / 2 + size * 0.35 };
        root.append(made("text", {
          ...place, fill: style.color, "font-family": style.fontFamily, "font-size": style.fontSize, "font-weight": style.fontWeight,
        }, style.textTransform === "uppercase" ? words.toUpperCase() : words));
      }
    }
    return { root, size };
  };

  // The legend that charts side by side share stands before them.
  const legend = (figure) => {
    if (figure.querySelector(".legend")) return null;
    for (let at = figure.closest(".plots") ?? figure; at; at = at.previousElementSibling) if (at.matches(".legend")) return at;
    return null;
  };

  const picture = (figure) => {
    const parts = [figure, legend(figure)].filter(Boolean).map(drawn);
    const width = Math.ceil(Math.max(...parts.map(({ size }) => size.width)) + 2 * ROOM);
    const svg = made("svg", { xmlns: NAMESPACE, width });
    let height = ROOM;
    const paper = made("rect", { width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor });
    svg.append(paper);
    for (const { root, size } of parts) {
      root.setAttribute("transform", `translate(${ROOM} ${height})`);
      svg.append(root);
      height += size.height + ROOM;
    }
    svg.setAttribute("height", Math.ceil(height));
    svg.setAttribute("viewBox", `0 0 ${width} ${Math.ceil(height)}`);
    return { text: new XMLSerializer().serializeToString(svg), width, height: Math.ceil(height) };
  };

  const painted = async ({ text, width, height }) => {
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
    await image.decode();
    const scale = Math.min(SHARPNESS, Math.sqrt(MOST / (width * height)));
    const canvas = Object.assign(document.createElement("canvas"), { width: width * scale, height: height * scale });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((done) => { canvas.toBlob(done, "image/png"); });
  };

  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const caption = figure.querySelector("figcaption");
    const title = caption.textContent.trim();
    const name = title.toLowerCase().replace(/[^a-z0-9.]+/g, "-").replace(/^-|-$/g, "") || "chart";
    const files = document.createElement("span");
    files.className = "files";
    for (const kind of ["SVG", "PNG"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = kind;
      button.setAttribute("aria-label", `Save as ${kind}: ${title}`);
      button.addEventListener("click", async () => {
        const found = picture(figure);
        const blob = kind === "SVG" ? new Blob([found.text], { type: "image/svg+xml" }) : await painted(found);
        save(blob, `${name}.${kind.toLowerCase()}`);
      });
      files.append(button);
    }
    caption.append(files);
  }
})();
