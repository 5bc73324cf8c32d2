// Names and keyboard focus that the theme leaves out: a screen reader needs both.
// Where the window changes its width, the theme takes the focus of a code block away.
const keepFocus = new MutationObserver((changes) => changes.forEach(({ target }) => {
  if (!target.hasAttribute("tabindex")) target.tabIndex = 0;
}));
document$.subscribe(() => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-code__nav").forEach((nav, n) => nav.setAttribute("aria-label", `Code block ${n + 1}`));
  document.querySelectorAll("pre > code, .md-typeset__scrollwrap, .notebook-output").forEach((box) => {
    box.tabIndex = 0;
    keepFocus.observe(box, { attributeFilter: ["tabindex"] });
  });
});
