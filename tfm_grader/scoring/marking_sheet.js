"use strict";
// Keeps what is typed, in this browser, and makes of it the sheet that `tfm report --marks` reads.
const inputs = [...document.querySelectorAll("input[data-line], textarea[data-line]")];
const key = `tfm-marking ${document.title}`;
const lines = JSON.parse(document.getElementById("lines").textContent);
const columns = ["student", "exercise", "criterion", "points", "reason", "text", "author", "time"];

function remembered() {
  try { return JSON.parse(localStorage.getItem(key)) || {}; } catch { return {}; }
}
// What is typed is remembered for a value as the report has it: if the report has another one later, that counts.
const names = new Map(inputs.map((input) => {
  const line = lines[input.dataset.line];
  const column = input.dataset.column;
  return [input, JSON.stringify([line.student, line.exercise, line.criterion, line.text, column, line[column] ?? ""])];
}));
function cell(value) {
  let text = String(value).replace(/\s+/g, " ").trim();
  if (/^\s*[=+\-@|%]/.test(text) && !/^-?\d+([.,]\d+)?$/.test(text)) text = `'${text}`;
  return `"${text.replaceAll('"', '""')}"`;
}
function count() {
  const done = inputs.filter((input) => input.dataset.column === "points" && input.value.trim() && input.checkValidity());
  const all = inputs.filter((input) => input.dataset.column === "points");
  document.getElementById("count").textContent = `${done.length} of ${all.length}`;
}
const known = remembered();
for (const input of inputs) {
  if (names.get(input) in known) input.value = known[names.get(input)];
  input.addEventListener("input", () => {
    known[names.get(input)] = input.value;
    try { localStorage.setItem(key, JSON.stringify(known)); } catch { /* the page works without */ }
    count();
  });
}
document.getElementById("save").addEventListener("click", () => {
  const wrong = inputs.find((input) => !input.checkValidity());
  if (wrong) { wrong.reportValidity(); return; }
  for (const input of inputs) lines[input.dataset.line][input.dataset.column] = input.value;
  const rows = lines.map((line) => columns.map((column) => cell(line[column] ?? "")).join(","));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([`\ufeff${columns.join(",")}\n${rows.join("\n")}\n`], { type: "text/csv" }));
  link.download = "marking.csv";
  link.click();
  URL.revokeObjectURL(link.href);
});
document.getElementById("controls").hidden = false;
count();
