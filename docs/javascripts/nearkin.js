// What is wider than its box can be scrolled by the keyboard, too. The theme puts tables into boxes when it has started.
addEventListener("load", () => setTimeout(() => {
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset .formula, .md-typeset p:has(> img)"))
    if (box.scrollWidth > box.clientWidth) {
      box.tabIndex = 0;
      box.setAttribute("role", "region");
      box.setAttribute("aria-label", "scrolls sideways");
    }
}));

// What is copied from a session is what was typed: without prompts, and without what was printed.
addEventListener("copy", (event) => {
  const from = event.target;
  const text = from instanceof HTMLTextAreaElement ? from.value : String(getSelection());
  const lines = text.split("\n");
  if (!/^(>>>|\$) /.test(lines[0]) || !event.clipboardData) return;
  const prompt = /^(>>>|\.\.\.|\$)( |$)/;
  const typed = lines.filter((line, at) => prompt.test(line) || (at && lines[at - 1].endsWith("\\")));
  event.clipboardData.setData("text/plain", typed.map((line) => line.replace(prompt, "")).join("\n"));
  event.preventDefault();
}, true);
