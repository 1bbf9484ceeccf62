"use strict";
// Only the failures that have the words are shown.
const search = document.querySelector("input");
search.addEventListener("input", () => {
    const words = search.value.toLowerCase();
    for (const failure of document.querySelectorAll(".failure, li")) {
        failure.hidden = !(failure.textContent + (failure.title ?? "")).toLowerCase().includes(words);
    }
    for (const group of document.querySelectorAll("h2")) {
        let next = group.nextElementSibling;
        let any = false;
        for (; next && next.tagName !== "H2"; next = next.nextElementSibling) any ||= !next.hidden;
        group.hidden = !any;
    }
});
