const MOST = 400; // words per translation, since every pair is compared

/* Split translations into words, each with whether the other translation lacks it. */
export function compared(...translations) {
  const both = translations.map((text) => text.split(" ").slice(0, MOST));
  const alone = differing(...both);
  return both.map((words, side) => words.map((word, k) => [word, alone[side][k]]));
}

/* Mark the words of both that are not in their longest common subsequence: two lists of booleans. */
export function differing(a, b) {
  const longest = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
  const [left, right] = [a.map(() => true), b.map(() => true)];
  for (let [i, j] = [0, 0]; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) left[i++] = right[j++] = false;
    else if (longest[i + 1][j] >= longest[i][j + 1]) i++;
    else j++;
  }
  return [left, right];
}
