"use strict";
(() => {
  // The page's drawings need no script. Somebody who points at one gets it drawn again, with values
  // to be read off and axes that move.
  const NARROW = window.matchMedia("(max-width: 640px)");

  function specOf(plot) {
    const both = JSON.parse(document.getElementById(plot.dataset.spec).textContent);
    const isNarrow = NARROW.matches || plot.closest(".multiples");
    return isNarrow ? { ...both.wide, ...both.narrow } : both.wide;
  }

  async function bringToLife(plot) {
    const drawings = [...plot.children];
    const shown = drawings.find((each) => each.getBoundingClientRect().width > 0) ?? drawings[0];
    const live = document.createElement("div");
    live.setAttribute("role", "group");
    live.setAttribute("aria-label", shown.getAttribute("aria-label"));
    plot.classList.remove("drawn");
    plot.style.minHeight = `${shown.getBoundingClientRect().height}px`;
    try {
      await window.vegaEmbed(live, specOf(plot), { actions: false, renderer: "svg" });
      plot.replaceChildren(live);
      plot.classList.add("live");
      NARROW.addEventListener("change", () => {
        plot.replaceChildren(...drawings);
        plot.classList.remove("live");
        plot.style.minHeight = "";
        waitFor(plot);
      }, { once: true });
    } catch (error) {
      console.error(error);
    }
    plot.classList.add("drawn");
  }

  function waitFor(plot) {
    const begin = () => {
      for (const event of ["pointerenter", "touchstart"]) plot.removeEventListener(event, begin);
      bringToLife(plot);
    };
    for (const event of ["pointerenter", "touchstart"]) plot.addEventListener(event, begin, { passive: true });
  }

  document.querySelectorAll(".plot[data-spec]").forEach(waitFor);

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

  // A table that may be sorted: the first press puts the largest number, or the first name or rank, on top.
  // A cell has the numbers it is ordered by, several for a rank that is a range; else its text orders it.
  const orderOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.order ? cell.dataset.order.split(" ").map(Number) : cell.textContent.trim();
  };
  const inOrder = (a, b) => {
    if (Array.isArray(a) !== Array.isArray(b)) return Array.isArray(a) ? 1 : -1;
    if (!Array.isArray(a)) return a.localeCompare(b);
    const place = a.findIndex((number, index) => number !== b[index]);
    return place < 0 ? 0 : a[place] - b[place];
  };
  function sortBy(table, head) {
    const body = table.tBodies[0];
    const column = head.cellIndex;
    const rows = [...body.rows];
    const orders = rows.map((row) => orderOf(row, column));
    const isAmount = orders.some((order) => Array.isArray(order) && order.length === 1);
    const before = head.getAttribute("aria-sort");
    const isDescending = before ? before === "ascending" : isAmount;
    rows.sort((a, b) => inOrder(orderOf(a, column), orderOf(b, column)) * (isDescending ? -1 : 1));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", isDescending ? "descending" : "ascending");
    body.append(...rows);
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    for (const head of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent.trim() || "name";
      button.addEventListener("click", () => sortBy(table, head));
      head.replaceChildren(button);
    }
  }

  // A link to something inside a fold opens it, also in browsers that do not by themselves.
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const folds = [target.querySelector(":scope > details.fold"), target.closest("details.fold")];
    for (const fold of folds) if (fold) fold.open = true;
    target.scrollIntoView();
  };
  window.addEventListener("hashchange", unfold);
  if (location.hash) unfold();

  // Paper shows what is folded away on the screen; of a study it has the answer and the figures alone,
  // because its evidence would be a hundred sheets.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    const isStudy = document.body.classList.contains("explanation");
    const wanted = isStudy ? ":is(#figures, #notes) > details.fold:not([open])" : "details:not([open])";
    folded = [...document.querySelectorAll(wanted)];
    folded.forEach((details) => { details.open = true; });
  });
  window.addEventListener("afterprint", () => folded.forEach((details) => { details.open = false; }));
})();
