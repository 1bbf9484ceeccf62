// Everything about one call lights up together.
document.addEventListener("mouseover", (event) => {
    const over = event.target.closest("[data-call]");
    document.querySelectorAll(".lit").forEach((lit) => lit.classList.remove("lit"));
    if (!over) return;
    document.querySelectorAll(`[data-call="${over.dataset.call}"]`).forEach((part) => part.classList.add("lit"));
});
// What does not have the words steps back; nothing moves, so the lines still meet their text.
document.querySelector("input").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase();
    document.querySelectorAll("li").forEach((line) => {
        line.classList.toggle("out", !line.textContent.toLowerCase().includes(words));
    });
});
// Only what led to the failure is shown at first. Rows close up, and the drawing with them.
const all = document.querySelector("#all");
if (all) {
    const rows = [...document.querySelectorAll("li")];
    const [height, head] = [22, 180];
    const fold = () => {
        let shown = 0;
        const places = rows.map((row) => {
            const told = all.checked || row.classList.contains("told");
            row.hidden = !told;
            row.classList.toggle("gap", told && row.previousElementSibling?.hidden === true);
            return { at: told ? shown++ : shown, told };
        });
        const y = (row) => head + height * places[row].at + height / 2;
        document.querySelectorAll("svg [data-rows]").forEach((part) => {
            const ends = part.dataset.rows.split(" ").map(Number);
            if (part.tagName === "circle") part.setAttribute("cy", y(ends[0]));
            else ends.forEach((row, end) => part.setAttribute(`y${end + 1}`, y(row)));
            const lane = part.classList.contains("lane");
            part.style.display = lane || ends.every((row) => places[row].told) ? "" : "none";
        });
        document.querySelector("svg").setAttribute("height", head + height * (shown + 1));
    };
    all.addEventListener("change", fold);
    fold();
}
