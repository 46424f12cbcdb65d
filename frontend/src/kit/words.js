/* All that the kit itself says, for another language to replace; {…} is filled in by `told`. */
export const WORDS = {
  save: "Save",
  saved: "Saved as {kind}",
  link: "Link",
  linkHint: "Copy a link to this state",
  copied: "Link copied",
  inBar: "The link is in the address bar",
  reset: "Reset",
  resetHint: "Back to the first state",
  queries: "queries ↓",
  keys: "keys →",
  weight: "weight",
  zero: "{unit} 0",
  linear: "{axis} · linear scale",
  log: "{axis} · log scale",
  at: "x {x}, y {y}",
  nothing: "not a number",
};
