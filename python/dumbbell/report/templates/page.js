"use strict";
(() => {
  const NARROW = 520;

  const BESIDE_PANEL = 95; // an axis with its title

  // Only single views and layers can take their container's width, and panels that stand below
  // each other what is left of it; others keep their own.
  const isFlexible = (spec) => ("mark" in spec || "layer" in spec) && !("facet" in (spec.encoding ?? {}));

  function fitted(spec, width) {
    const fitted = structuredClone(spec);
    fitted.config ??= {};
    if (isFlexible(fitted)) {
      fitted.width = "container";
      fitted.autosize = { type: "fit-x", contains: "padding" };
    }
    if ("row" in (fitted.facet ?? {})) fitted.spec.width = Math.max(200, width - BESIDE_PANEL);
    if ("columns" in fitted) fitPanels(fitted, width);
    if (width < NARROW) {
      fitted.config.legend = { ...fitted.config.legend, columns: longestLabel(fitted) > 18 ? 1 : 2, labelLimit: width - 60,
        layout: { bottom: { anchor: "start", direction: "vertical", margin: 6 } } };
      fitted.config.axis = { ...fitted.config.axis, labelLimit: Math.round(width * 0.36), tickCount: 4 };
      shortenLabels(fitted, Math.round(width * 0.36));
    }
    return fitted;
  }

  // Small panels side by side share the width; on a phone they stand below each other.
  function fitPanels(fitted, width) {
    if (width < NARROW) fitted.columns = 1;
    const spacing = (fitted.spacing ?? 20) * (fitted.columns - 1);
    const each = Math.max(120, Math.floor((width - BESIDE_PANEL - spacing) / fitted.columns));
    fitted.spec.height = Math.min(360, Math.round(fitted.spec.height * each / fitted.spec.width));
    fitted.spec.width = each;
  }

  // Legends list their scales' domains: the longest name decides how many stand in a row.
  function longestLabel(node) {
    if (node === null || typeof node !== "object") return 0;
    if (Array.isArray(node)) return Math.max(0, ...node.map(longestLabel));
    const own = (Array.isArray(node.domain) ? node.domain : []).map((name) => typeof name === "string" ? name.length : 0);
    const nested = Object.entries(node).map(([key, entry]) => key === "datasets" || key === "data" ? 0 : longestLabel(entry));
    return Math.max(0, ...own, ...nested);
  }

  // An axis' own label limit beats the theme's, so it is lowered where it stands.
  function shortenLabels(node, limit) {
    if (Array.isArray(node)) { node.forEach((entry) => shortenLabels(entry, limit)); return; }
    if (node === null || typeof node !== "object") return;
    if (typeof node.axis?.labelLimit === "number") node.axis.labelLimit = Math.min(node.axis.labelLimit, limit);
    for (const [key, entry] of Object.entries(node)) if (key !== "datasets" && key !== "data") shortenLabels(entry, limit);
  }

  async function draw(plot) {
    const spec = JSON.parse(document.getElementById(plot.dataset.spec).textContent);
    plot.classList.remove("drawn");
    try {
      await window.vegaEmbed(plot, fitted(spec, plot.clientWidth), { actions: false, renderer: "svg" });
      plot.classList.add("drawn");
    } catch (error) {
      plot.textContent = "This figure could not be drawn here; its files are below.";
      console.error(error);
    }
  }

  const plots = [...document.querySelectorAll(".plot[data-spec]")];
  let narrow = window.innerWidth < NARROW;
  plots.forEach(draw);
  window.addEventListener("resize", () => {
    // vega-embed follows the width by itself; the legend's shape is redrawn when it must change.
    if (narrow === window.innerWidth < NARROW) return;
    narrow = !narrow;
    plots.forEach(draw);
  });

  function copied(button, text) {
    const done = () => { button.textContent = "copied"; setTimeout(() => { button.textContent = "copy"; }, 1500); };
    const bySelection = () => {
      const range = document.createRange();
      range.selectNodeContents(button.parentElement.querySelector("code"));
      const selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      if (document.execCommand("copy")) done();
    };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, bySelection);
    else bySelection();
  }

  for (const block of document.querySelectorAll(".host-commands")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "copy";
    button.addEventListener("click", () => copied(button, block.querySelector("code").textContent));
    block.append(button);
  }

  // Paper shows what is folded away on the screen.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((details) => { details.open = true; });
  });
  window.addEventListener("afterprint", () => folded.forEach((details) => { details.open = false; }));
})();
