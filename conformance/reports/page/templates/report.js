"use strict";
(() => {
  // Text from the target reaches the page through textContent and through nothing else.
  const data = JSON.parse(document.getElementById("data").textContent);
  const table = document.getElementById("table");
  const form = document.querySelector(".filters");

  const el = (tag, attributes, ...children) => {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) node.setAttribute(name, value);
    for (const child of children) if (child) node.append(child);
    return node;
  };

  // What passed or was not judged is in the data only, each text once, which keeps the page small.
  const members = ["outcome", "check", "requirement", "operation", "message", "level", "cause", "fact", "case"];
  const symbols = Object.fromEntries([...form.querySelectorAll(".chip")].map((chip) => [chip.querySelector("input").value, chip.querySelector("[aria-hidden]").textContent]));
  const addRow = ([id, indices, took, cited, ...notes]) => {
    const result = Object.fromEntries(members.map((member, index) => [member, data.texts[indices[index]]]));
    const name = result.check + (result.case ? ` [${result.case}]` : "");
    const only = `${result.check.split("::").pop()}[${result.operation}${result.case ? "-" + result.case : ""}]`;
    result.exchanges = cited ? [cited] : [];
    result.notes = notes;
    result.reproduce = data.again && !result.check.startsWith("invariant::") ? `${data.again} --only '${only}'` : "";
    data.results[id] = result;
    return el("tr", { id: "r-" + id, class: "row" },
      el("td", null, el("a", { class: "open o o-" + result.outcome, href: "#r-" + id },
        el("span", { "aria-hidden": "true" }, symbols[result.outcome]), " " + result.outcome)),
      el("th", { scope: "row" }, result.requirement), el("td", null, el("code", null, result.operation || "–")),
      el("td", null, el("span", { class: "check" }, name), result.message && el("span", { class: "msg" }, result.message.slice(0, 200))),
      el("td", { class: "num" }, took));
  };
  table.tBodies[0].append(...data.others.map(addRow));

  // On a phone the first cause comes sooner: the first screen names the causes that matter most.
  const all = document.querySelector(".all");
  if (all && matchMedia("(max-width: 48rem)").matches) all.open = false;

  const rows = [...table.tBodies[0].rows].map((row) => {
    const id = row.id.slice(2);
    return { row, id, result: data.results[id], text: "" };
  });
  const byId = new Map(rows.map((entry) => [entry.id, entry]));

  const copyButton = (pre) => {
    const button = el("button", { type: "button", "aria-label": "Copy: " + pre.getAttribute("aria-label") }, "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(pre);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    return button;
  };

  const command = (line, label) => {
    const pre = el("pre", { class: "copy", tabindex: "0", role: "group", "aria-label": label }, el("code", null, line));
    return el("div", { class: "command" }, el("span", { class: "label" }, label), pre, copyButton(pre));
  };

  // The lines that decided.
  const marked = (node, lines, indices) => {
    lines.forEach((line, index) => {
      if (index) node.append("\n");
      if (indices.includes(index)) node.append(/^\s*/.exec(line)[0], el("mark", null, line.trimStart()));
      else node.append(line);
    });
    return node;
  };

  const half = (name, message) => {
    const pre = el("pre", { tabindex: "0", role: "group", "aria-label": name },
      marked(el("span", { class: "header" }), message.headers, message.headersMarked));
    if (message.headers.length) pre.append("\n\n");
    if (message.body.length) marked(pre, message.body, message.marked); else pre.append(el("i", null, "no body"));
    return el("div", { class: "half" }, el("h5", null, name, message.size && el("small", null, " " + message.size)), pre);
  };

  const compared = (sides) => el("div", { class: "compared" }, ...sides.map((side) => el("div", { class: "half" },
    el("h5", null, side.name + " ", el("small", null, side.id), " ", el("span", { class: "status" }, "→ " + side.status)),
    side.body.length ? marked(el("pre", { tabindex: "0", role: "group", "aria-label": side.name }), side.body, side.marked)
      : el("pre", null, el("i", null, "no body")))));

  const exchange = (one, decisive) => {
    if (!one.request) return el("p", { class: "check" }, one.line);
    const summary = el("summary", null,
      el("span", { class: "purpose" }, one.purpose || "exchange"), " ",
      el("code", null, one.method + " " + one.url.slice(0, 160)), " ",
      el("span", { class: "status" }, "→ " + one.status), " ", el("span", { class: "took" }, one.took),
      decisive && el("b", { class: "mark" }, "decisive"));
    const box = el("details", { class: decisive ? "exchange decisive" : "exchange" }, summary,
      el("p", { class: "sent" }, "Sent with " + one.credential + "."),
      el("div", { class: "halves" }, half("Request", one.request), half("Answer", one.response)));
    for (const finding of one.findings) box.append(el("p", { class: "finding" }, finding));
    const set = one.variables.length ? " (set " + one.variables.join(", ") + ")" : "";
    box.append(command(one.curl, "send it again" + set));
    box.open = Boolean(decisive);
    return box;
  };

  const pair = (name, text) => el("div", { class: name }, el("dt", null, name === "expected" ? "Expected" : "Observed"), el("dd", null, text || "not stated"));

  const detail = (result) => {
    const box = el("td", { colspan: "5" });
    const clause = data.clauses[result.requirement];
    if (clause) box.append(el("blockquote", { class: "clause" }, el("p", null, clause[0]), el("footer", null, el("b", null, result.requirement), " · " + clause[1])));
    if (result.message) box.append(el("p", { class: "said" }, result.message));
    if (result.expected || result.observed) box.append(el("dl", { class: "versus" }, pair("expected", result.expected), pair("observed", result.observed)));
    const more = el("dl", { class: "more" });
    const labels = { often: "How often", level: "Judged as", cause: "Cause", fact: "Profile key that would enable it", signature: "Signature" };
    for (const [name, label] of Object.entries(labels)) if (result[name]) more.append(el("dt", null, label), el("dd", null, el("code", null, result[name])));
    for (const note of result.notes || []) more.append(el("dt", null, "Note"), el("dd", null, note));
    box.append(more);
    if (result.compared) box.append(compared(result.compared));
    const cited = result.exchanges || [];
    cited.forEach((id, index) => {
      const one = data.exchanges[id];
      box.append(one ? exchange(one, index === cited.length - 1 && result.outcome !== "passed") : el("p", { class: "check" }, id + ": see journal.ndjson"));
    });
    if (result.more) box.append(el("p", { class: "check" }, result.more + " earlier exchanges: see journal.ndjson"));
    if (result.reproduce) box.append(command(result.reproduce, "run just this again"));
    return el("tr", { class: "detail" }, box);
  };

  const toggle = (entry, open) => {
    const link = entry.row.querySelector(".open");
    const isOpen = link.getAttribute("aria-expanded") === "true";
    const wanted = open === undefined ? !isOpen : open;
    if (wanted && !entry.detail) entry.detail = detail(entry.result);
    if (wanted && !isOpen) entry.row.after(entry.detail);
    if (!wanted && isOpen) entry.detail.remove();
    link.setAttribute("aria-expanded", String(wanted));
    entry.row.classList.toggle("current", wanted);
  };

  // Filters; their state is in the address, so that a filtered view can be sent to someone.
  const searchable = (entry) => {
    if (!entry.text) {
      const r = entry.result;
      entry.text = [r.check, r.requirement, r.operation, r.case, r.message, r.expected, r.observed, r.cause, r.fact, r.signature, ...(r.notes || [])].join("\n").toLowerCase();
    }
    return entry.text;
  };

  const apply = () => {
    const outcomes = new Set(new FormData(form).getAll("outcome"));
    const operation = form.elements.operation.value;
    const requirement = form.elements.requirement.value;
    const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const entry of rows) {
      const r = entry.result;
      const fits = (!outcomes.size || outcomes.has(r.outcome)) && (operation === "*" || (r.operation || "") === operation) &&
        (requirement === "*" || (r.requirement || "") === requirement) && words.every((word) => searchable(entry).includes(word));
      if (entry.row.hidden === fits) entry.row.hidden = !fits;
      if (entry.detail) entry.detail.hidden = !fits;
      if (fits) shown += 1;
    }
    form.querySelector("output").textContent = shown === rows.length ? `${shown.toLocaleString("en")} results` : `${shown.toLocaleString("en")} of ${rows.length.toLocaleString("en")} results`;
  };

  const remember = () => {
    const state = new URLSearchParams();
    for (const [name, value] of new FormData(form)) if (value && value !== "*") state.append(name, value);
    const text = state.toString();
    history.replaceState(null, "", text ? "#results?" + text : "#results");
  };

  const restore = (text) => {
    const state = new URLSearchParams(text);
    form.reset();
    for (const box of form.querySelectorAll("[name=outcome]")) box.checked = state.getAll("outcome").includes(box.value);
    for (const name of ["operation", "requirement", "q"]) if (state.has(name)) form.elements[name].value = state.get(name);
    apply();
    document.getElementById("results").scrollIntoView();
  };

  const follow = () => {
    const hash = location.hash;
    if (hash.startsWith("#results?")) return restore(hash.slice(9));
    const entry = hash.startsWith("#r-") && byId.get(hash.slice(3));
    if (!entry) return;
    if (entry.row.hidden) { form.reset(); apply(); }
    toggle(entry, true);
    entry.row.scrollIntoView({ block: "center" });
    entry.row.querySelector(".open").focus({ preventScroll: true });
  };

  form.hidden = false;
  form.addEventListener("input", () => { apply(); remember(); });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { apply(); remember(); }));
  table.addEventListener("click", (event) => {
    const link = event.target.closest(".open");
    const row = event.target.closest(".row");
    if (!row || (!link && (event.target.closest("a") || String(getSelection())))) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    toggle(byId.get(row.id.slice(2)));
    history.replaceState(null, "", "#" + row.id);
  });
  table.addEventListener("keydown", (event) => {
    const link = event.target.closest(".open");
    if (!link || !["ArrowDown", "ArrowUp", "Home", "End", " "].includes(event.key)) return;
    event.preventDefault();
    if (event.key === " ") return link.click();
    const seen = rows.filter((entry) => !entry.row.hidden);
    const at = seen.findIndex((entry) => entry.row.contains(link));
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: seen.length - 1 }[event.key];
    if (seen[next]) seen[next].row.querySelector(".open").focus();
  });
  for (const link of table.querySelectorAll(".open")) link.setAttribute("aria-expanded", "false");
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    event.preventDefault();
    form.elements.q.focus();
  });

  // One tip for the cells of both matrices, which arrow keys walk.
  const tip = document.getElementById("tip");
  let tipped = null;
  const showTip = (cell) => {
    tipped = cell;
    if (!cell || !cell.dataset.tip) { tip.hidden = true; return; }
    tip.textContent = cell.dataset.tip;
    tip.hidden = false;
    const box = cell.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left + box.width / 2 - tip.offsetWidth / 2, innerWidth - tip.offsetWidth - 8));
    const above = box.top - tip.offsetHeight - 6;
    tip.style.left = left + "px";
    tip.style.top = (above > 4 ? above : box.bottom + 6) + "px";
  };
  const columns = [...document.querySelectorAll(".matrix thead tr:last-child th")].map((cell) => cell.textContent);
  const meaning = (cell) => cell.title || `${cell.parentNode.querySelector("b").textContent}, ${columns[cell.cellIndex]}: ${cell.querySelector(".vh").textContent.split(": ").pop()}`;
  for (const grid of document.querySelectorAll(".grid")) {
    for (const cell of grid.querySelectorAll("td[title], .matrix tbody td[class]")) {
      cell.dataset.tip = meaning(cell);
      cell.removeAttribute("title");
      (cell.querySelector("a") || cell).tabIndex = -1;
    }
    const first = grid.querySelector("td[data-tip]");
    if (first) (first.querySelector("a") || first).tabIndex = 0;
    grid.addEventListener("mouseover", (event) => showTip(event.target.closest("td")));
    grid.addEventListener("mouseleave", () => showTip(null));
    grid.addEventListener("focusin", (event) => showTip(event.target.closest("td")));
    grid.addEventListener("focusout", () => showTip(null));
    grid.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
      let cell = event.target.closest("td");
      if (event.key === "Escape") tip.hidden = true;
      if (!step || !cell) return;
      event.preventDefault();
      const body = grid.tBodies[0].rows;
      let [y, x] = [cell.parentNode.rowIndex - grid.tHead.rows.length, cell.cellIndex];
      do {
        y += step[0]; x += step[1];
        cell = body[y] && body[y].cells[x];
      } while (cell && (!cell.dataset.tip || !cell.offsetParent));
      if (!cell || cell.tagName !== "TD") return;
      (event.target).tabIndex = -1;
      const target = cell.querySelector("a") || cell;
      target.tabIndex = 0;
      target.focus();
    });
  }
  const unbad = document.getElementById("unbad");
  unbad.parentNode.hidden = false;
  unbad.addEventListener("change", () => document.querySelector(".matrix").classList.toggle("unbad", unbad.checked));
  const refresh = () => { if (!tip.hidden) showTip(tipped && tipped.contains(document.activeElement) ? tipped : null); };
  addEventListener("scroll", refresh, { passive: true, capture: true });
  for (const pre of document.querySelectorAll("pre.copy")) if (pre.parentNode.lastElementChild === pre) pre.after(copyButton(pre));
  // On paper the evidence is folded.
  const unfolded = [];
  addEventListener("beforeprint", () => {
    for (const box of document.querySelectorAll("details[open]")) { unfolded.push(box); box.open = false; }
  });
  addEventListener("afterprint", () => { for (const box of unfolded.splice(0)) box.open = true; });
  addEventListener("hashchange", follow);
  apply();
  follow();
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
})();
