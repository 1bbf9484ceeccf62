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
