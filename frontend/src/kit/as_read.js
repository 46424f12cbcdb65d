/* asRead("al", ["▁anim", "al"])   "-al": where ▁ begins a word, a token that continues a word gets a hyphen; as tfm_lib.widgets.base.as_read */

export function asRead(token, tokens) {
  if (token.startsWith("▁")) return token.slice(1) || "␣";
  return /^\p{L}/u.test(token) && tokens.some((other) => /^▁./u.test(other)) ? `-${token}` : token;
}
