(function (root, asked) {
  try { asked = localStorage.getItem("tfm-scheme"); } catch (blocked) {}
  root.dataset.theme = asked || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.classList.add("js");
})(document.documentElement);
