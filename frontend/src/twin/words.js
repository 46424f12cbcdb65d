/* wordsOf("Once, Anna's")  → ["Once", ",", "Anna's"]: words and signs, as tfm_lib's Vocabulary separates them */

const TOKEN = /[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+)*|\S/gu;

export const wordsOf = (text) => text.match(TOKEN) ?? [];
