"use strict";
const { places, things, changes, events, texts, at: begin } = JSON.parse(document.querySelector("#data").textContent);
const one = (selector) => document.querySelector(selector);
const every = (selector) => [...document.querySelectorAll(selector)];
const rows = every("#history li");
const [svg, slider, all, search] = [one("svg"), one("#at"), one("#all"), one("input[type=search]")];
const element = (name, kind, ...parts) => {
    const made = document.createElement(name);
    if (kind) made.className = kind;
    made.append(...parts);
    return made;
};

// Which lines are shown. Without a filter these are the lines of the story and the stretches that were unfolded.
const unfolded = new Set();
let shown = rows;
const said = rows.map((row, at) => [row.textContent, ...events[at].map(([, text]) => texts[text])].join("\n").toLowerCase());
function choose() {
    const words = search.value.toLowerCase();
    const wanted = (row, at) =>
        words ? said[at].includes(words) : !all || all.checked || row.classList.contains("told") || unfolded.has(at);
    const kept = rows.map(wanted);
    every("li.fold").forEach((fold) => fold.remove());
    rows.forEach((row, at) => (row.hidden = !kept[at]));
    shown = rows.filter((row) => !row.hidden);
    one("#found").textContent = words ? `${shown.length} of ${rows.length} lines` : "";
    for (let from = 0; from < rows.length && !words; from++) {
        if (kept[from]) continue;
        let to = from;
        while (to < rows.length && !kept[to]) to++;
        const fold = element("li", "fold", `⋯ ${to - from} more ${to - from === 1 ? "event" : "events"}`);
        const [first, end] = [from, to];
        fold.onclick = () => {
            for (let at = first; at < end; at++) unfolded.add(at);
            choose();
        };
        rows[from].before(fold);
        from = to;
    }
    draw();
}

// The drawing follows the lines, whose heights depend on the width of the window.
const drawn = every("svg [data-rows]").map((part) => [part, part.dataset.rows.split(" ").map(Number)]);
function draw() {
    let last = parseFloat(getComputedStyle(one("ol")).paddingTop);
    const y = rows.map((row) => (row.hidden ? last : (last = row.offsetTop)) + 11);
    for (const [part, ends] of drawn) {
        if (part.tagName === "circle") part.setAttribute("cy", y[ends[0]]);
        else ends.forEach((row, end) => part.setAttribute(`y${end + 1}`, y[row]));
        const visible = part.classList.contains("lane") || ends.every((row) => !rows[row].hidden);
        part.style.display = visible ? "" : "none";
    }
    svg.setAttribute("height", one("ol").offsetHeight);
    below();
}
// What stays in view stands below the controls.
function below() {
    document.body.style.setProperty("--nav", `${one("nav").offsetHeight}px`);
}

// What is kept after so many events: for each thing what it was before the last of them, and what it is.
function kept(count) {
    const [before, after] = [new Map(), new Map()];
    for (const [event, thing, now] of changes) {
        if (event >= count) break;
        if (event < count - 1) now ? before.set(thing, now) : before.delete(thing);
        now ? after.set(thing, now) : after.delete(thing);
    }
    return [before, after];
}

const LONG = 160;
function long(text) {
    if (text.length <= LONG) return text;
    const [short, whole] = [`${text.slice(0, LONG)}… (${text.length} characters)`, pretty(text)];
    const part = element("span", "long", short);
    part.title = "unfold";
    part.onclick = () => (part.textContent = part.textContent === short ? whole : short);
    return part;
}
// JSON at the end of a text is easier to read on lines of its own.
function pretty(text) {
    const from = text.search(/[[{]/);
    try {
        return text.slice(0, from) + JSON.stringify(JSON.parse(text.slice(from)), null, 2);
    } catch {
        return text;
    }
}

function thing([, name], was, now) {
    const made = element("div", `thing${was ? (now ? "" : " gone") : " new"}`, element("strong", "", name));
    const old = new Map(was ?? []);
    for (const [field, value] of now ?? was) {
        const changed = was && now && old.get(field) !== value;
        const shown = changed ? element("mark", "", long(value)) : long(value);
        const part = element("span", "", element("i", "", `${field} `), shown);
        if (changed && old.has(field)) part.append(" ", element("del", "", `was ${old.get(field).slice(0, LONG)}`));
        made.append(part);
    }
    return made;
}

function panel(count) {
    const parts = [];
    if (count > 0) {
        const row = rows[count - 1];
        parts.push(element("h2", "", `Event ${count}: ${row.querySelector("b").title}`));
        const list = element("dl");
        for (const [word, text] of events[count - 1]) list.append(element("dt", word, word), element("dd", "", long(texts[text])));
        if (!events[count - 1].length) list.append(element("dd", "", row.querySelector("span").textContent));
        parts.push(list);
    }
    parts.push(element("h2", "", count > 0 ? "What is kept after it" : "What is kept before anything happens"));
    const [before, after] = kept(count);
    const ids = new Set([...before.keys(), ...after.keys()]);
    places.forEach(([kind, name], place) => {
        const here = [...ids].filter((id) => things[id][0] === place).sort((a, b) => a - b);
        if (!here.length) return;
        parts.push(element("h3", "", `${kind} ${name}`));
        for (const id of here) parts.push(thing(things[id], before.get(id), after.get(id)));
    });
    if (!ids.size) parts.push(element("p", "note", "Nothing."));
    one("aside").replaceChildren(...parts);
}

let now = -1;
function stand(count, scroll) {
    count = Math.max(0, Math.min(events.length, count));
    if (count === now) return;
    now = count;
    slider.value = count;
    const time = count ? rows[count - 1].querySelector("time").textContent : "";
    one("output").textContent = count ? `${count} of ${events.length}, ${time}` : `before ${events.length} events`;
    every("li.now").forEach((row) => row.classList.remove("now"));
    const line = shown.findLast((row) => Number(row.id) <= count);
    line?.classList.add("now");
    if (scroll) line?.scrollIntoView({ block: "nearest" });
    panel(count);
}
const next = () => stand(Number(shown.find((row) => Number(row.id) > now)?.id ?? events.length), true);
const previous = () => stand(Number(shown.findLast((row) => Number(row.id) < now)?.id ?? 0), true);
const change = (forward) => {
    const counts = changes.map(([event]) => event + 1);
    const to = forward ? counts.find((count) => count > now) : counts.findLast((count) => count < now);
    if (to !== undefined) stand(to, true);
};

slider.addEventListener("input", () => stand(Number(slider.value), true));
one("#back").addEventListener("click", previous);
one("#on").addEventListener("click", next);
search.addEventListener("input", choose);
all?.addEventListener("change", choose);
addEventListener("resize", draw);
rows.forEach((row) => row.addEventListener("click", () => stand(Number(row.id), false)));
// Everything about one call lights up together.
const calls = new Map();
for (const part of every("[data-call]")) calls.set(part.dataset.call, [...(calls.get(part.dataset.call) ?? []), part]);
let lit;
document.addEventListener("mouseover", (event) => {
    const call = event.target.closest("[data-call]")?.dataset.call;
    if (call === lit) return;
    calls.get(lit)?.forEach((part) => part.classList.remove("lit"));
    calls.get(call)?.forEach((part) => part.classList.add("lit"));
    lit = call;
});

// Two views: the history, and this run beside one that holds.
const tabs = every("[role=tab]");
function view(id) {
    for (const tab of tabs) {
        const chosen = tab.getAttribute("aria-controls") === id;
        tab.setAttribute("aria-selected", chosen);
        one(`#${tab.getAttribute("aria-controls")}`).hidden = !chosen;
    }
    one(".of-history").hidden = id !== "history";
    if (id === "history") draw();
    else below();
}
tabs.forEach((tab) => tab.addEventListener("click", () => view(tab.getAttribute("aria-controls"))));

// A link to an event shows it, wherever the link is.
function follow() {
    if (location.hash === "#beside" && tabs.length) return view("beside");
    const row = rows[Number(location.hash.slice(1)) - 1];
    if (!row) return;
    if (tabs.length) view("history");
    if (row.hidden) {
        unfolded.add(Number(row.id) - 1);
        search.value = "";
        choose();
    }
    now = -1;
    stand(Number(row.id), true);
}
addEventListener("hashchange", follow);

document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target === search) {
        if (event.key === "Escape") search.blur();
        return;
    }
    const keys = {
        ArrowRight: () => (event.shiftKey ? change(true) : next()),
        ArrowLeft: () => (event.shiftKey ? change(false) : previous()),
        Home: () => stand(0, true),
        End: () => stand(events.length, true),
        "/": () => search.focus(),
        a: () => all?.click(),
        c: () => tabs.find((tab) => tab.getAttribute("aria-selected") === "false")?.click(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
});

choose();
stand(begin, false);
follow();
