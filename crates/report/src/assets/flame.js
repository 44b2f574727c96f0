// Flame graphs: a click shows a function and what is under it in the whole width, a search marks
// the functions whose names hold a text.
for (const figure of document.querySelectorAll("figure.flame")) {
  // The caption has buttons of its own.
  const form = figure.querySelector("form");
  const [field, whole, said] = form.querySelectorAll("input, button, output");
  const boxes = [...figure.querySelectorAll("g[data-name]")].map((element) => ({
    element, name: element.dataset.name, depth: +element.dataset.depth, x: +element.dataset.x, w: +element.dataset.w,
    rect: element.querySelector("rect"), text: element.querySelector("text"),
  }));
  const width = +figure.querySelector("svg").getAttribute("width");

  const zoom = (chosen) => {
    const [start, scale] = chosen ? [chosen.x, width / Math.max(chosen.w, 0.01)] : [0, 1];
    for (const box of boxes) {
      const above = chosen && box.depth < chosen.depth;
      const left = Math.max((box.x - start) * scale, 0);
      const right = Math.min((box.x + box.w - start) * scale, width);
      box.element.style.display = right - left < 0.3 ? "none" : "";
      box.rect.setAttribute("x", left);
      box.rect.setAttribute("width", Math.max(right - left, 0));
      box.rect.style.opacity = above ? 0.5 : "";
      box.text.setAttribute("x", left + 3);
      const letters = Math.floor((right - left - 6) / 6.4);
      box.text.textContent = letters < 3 ? "" : box.name.length <= letters ? box.name : `${box.name.slice(0, letters - 1)}…`;
    }
  };

  const search = () => {
    const wanted = field.value.trim().toLowerCase();
    let found = 0;
    for (const box of boxes) {
      const is = wanted !== "" && box.name.toLowerCase().includes(wanted);
      box.element.classList.toggle("found", is);
      found += is;
    }
    said.textContent = wanted === "" ? "" : `${found} found`;
  };

  for (const box of boxes) box.element.addEventListener("click", () => zoom(box));
  whole.addEventListener("click", () => zoom(null));
  field.addEventListener("input", search);
  form.addEventListener("submit", (event) => event.preventDefault());
}
