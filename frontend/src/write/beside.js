/* What was written beside the solution, line by line: "same", or only in one of the two, "written" or "solution". */
export function beside(written, solution) {
  const [a, b] = [written, solution].map((text) => text.trim().split("\n").map((line) => line.trimEnd()));
  const common = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0)); // of the lines from i and from j on
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const found = [];
  for (let [i, j] = [0, 0]; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      found.push(["same", a[i++]]);
      j++;
    } else if (j === b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) found.push(["written", a[i++]]);
    else found.push(["solution", b[j++]]);
  }
  return found;
}
