// What is wider than its box can be scrolled by the keyboard, too. The theme puts tables into boxes when it has started.
addEventListener("load", () => setTimeout(() => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset .formula, .md-typeset p:has(> img)"))
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", "scrolls sideways");
    }
}));
