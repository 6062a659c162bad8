"use strict";
for (const box of document.querySelectorAll("input[data-only]")) {
  const table = document.getElementById(box.dataset.only);
  box.addEventListener("change", () => table.classList.toggle("only", box.checked));
}
