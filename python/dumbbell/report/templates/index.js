"use strict";
(() => {
  // Without a script every study is shown, and there is no box to type in.
  const box = document.querySelector(".search");
  const input = document.getElementById("search");
  const status = box.querySelector("[role=status]");
  const found = [...document.querySelectorAll(".topic article, .advice > div")].map((place) => [
    place,
    `${place.textContent} ${place.dataset.words ?? ""}`.toLowerCase(),
  ]);
  box.hidden = false;
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let n = 0;
    for (const [place, text] of found) {
      place.hidden = !words.every((word) => text.includes(word));
      n += !place.hidden && place.matches("article");
    }
    for (const group of document.querySelectorAll(".topic, #advice")) {
      group.hidden = !group.querySelector("article:not([hidden]), .advice > div:not([hidden])");
    }
    status.textContent = words.length ? `${n} ${n === 1 ? "study" : "studies"}` : "";
  });
})();
