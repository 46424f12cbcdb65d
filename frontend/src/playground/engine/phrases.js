/* Numbers and dates in words, as tfm_lib.corpora writes them, and what they mean.

   numberInWords(number)        1 to 9999 in English, an array of words;  numberOf(words) is the way back
   dateInWords(locale, date)    as that locale writes it, an array of tokens;  isoOf(tokens): ["2031", "-", "03", "-", "05"]  */

export const UNITS = "- one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(" ");
export const TENS = "- - twenty thirty forty fifty sixty seventy eighty ninety".split(" ");
export const ENGLISH = "January February March April May June July August September October November December".split(" ");
export const GERMAN = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split(" ");
export const LOCALES = ["en_US", "en_GB", "de"];

export const padded = (number, width = 2) => String(number).padStart(width, "0");

export function numberInWords(number) {
  const [group, rest] = [Math.floor(number / 1000), number % 1000];
  const thousands = group ? [...numberInWords(group), "thousand"] : [];
  const hundreds = rest >= 100 ? [UNITS[Math.floor(rest / 100)], "hundred"] : [];
  const last = rest % 100;
  const joined = last && (group || hundreds.length) ? ["and"] : [];
  return [...thousands, ...hundreds, ...joined, ...(last < 20 ? last ? [UNITS[last]] : [] : [TENS[Math.floor(last / 10)], ...(last % 10 ? [UNITS[last % 10]] : [])])];
}

export function numberOf(words) {
  let [number, group] = [0, 0];
  for (const word of words) {
    if (word === "thousand") [number, group] = [1000 * group, 0];
    else if (word === "hundred") group *= 100;
    else group += Math.max(0, UNITS.indexOf(word)) + 10 * Math.max(0, TENS.indexOf(word));
  }
  return number + group;
}

export function dateInWords(locale, date) {
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()].map(Number);
  if (locale === "de") return [String(day), ".", GERMAN[month], String(year)];
  return locale === "en_US" ? [ENGLISH[month], String(day), ",", String(year)] : [String(day), ENGLISH[month], String(year)];
}

export function isoOf(tokens) {
  const month = tokens.map((token) => 1 + Math.max(ENGLISH.indexOf(token), GERMAN.indexOf(token))).find(Boolean);
  const [year, day] = [/^\d{4}$/, /^\d\d?$/].map((form) => tokens.find((token) => form.test(token)));
  return month && year && day ? [year, "-", padded(month), "-", padded(day)] : [];
}
