// Names and keyboard focus that the theme leaves out: a screen reader needs both.
document$.subscribe(() => {
  document.querySelector(".md-search")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-code__nav").forEach((nav, n) => nav.setAttribute("aria-label", `Code block ${n + 1}`));
  document.querySelectorAll("pre > code, .md-typeset__scrollwrap").forEach((box) => { box.tabIndex = 0; });
});
