// Shows the numbers where the pointer is, in all figures at once. The page is whole without it.
"use strict";
(() => {
  const { place, step, figures } = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const drawings = figures.map((figure) => {
    const svg = document.getElementById(figure.id);
    const cursor = document.createElementNS(svg.namespaceURI, "line");
    cursor.setAttribute("class", "cursor");
    cursor.setAttribute("y2", svg.viewBox.baseVal.height - 24);
    cursor.setAttribute("visibility", "hidden");
    svg.append(cursor);
    return { figure, svg, cursor };
  });
  const hide = () => {
    tip.hidden = true;
    drawings.forEach(({ cursor }) => cursor.setAttribute("visibility", "hidden"));
  };
  const show = (figure, svg, event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * place.view;
    const steps = figure.series[0].values.length;
    const at = Math.floor(((x - place.left) / place.width) * steps);
    if (at < 0 || at >= steps) return hide();
    drawings.forEach(({ cursor }) => {
      cursor.setAttribute("x1", x);
      cursor.setAttribute("x2", x);
      cursor.setAttribute("visibility", "visible");
    });
    const lines = figure.series.map(({ name, colour, values }) => {
      const line = document.createElement("div");
      const mark = document.createElement("i");
      mark.style.background = colour;
      line.append(mark, `${name} ${values[at] === null ? "–" : values[at] + figure.unit}`);
      return line;
    });
    const time = document.createElement("b");
    time.textContent = `${(at * step).toFixed(1)} s`;
    tip.replaceChildren(time, ...lines);
    tip.hidden = false;
    const left = event.clientX + 16 + tip.offsetWidth > innerWidth ? event.clientX - 16 - tip.offsetWidth : event.clientX + 16;
    tip.style.left = `${left}px`;
    tip.style.top = `${Math.min(event.clientY + 12, innerHeight - tip.offsetHeight - 8)}px`;
  };
  drawings.forEach(({ figure, svg }) => {
    svg.addEventListener("pointermove", (event) => show(figure, svg, event));
    svg.addEventListener("pointerleave", hide);
  });
})();
