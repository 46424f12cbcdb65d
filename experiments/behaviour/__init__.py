"""The behaviour test of the shipped English–French translator: what people type, judged by written rules.

Each kind has 200 cases, shared out among its sub-kinds, drawn by a seed over the whole test split of Tatoeba ("carriers").
`lists` holds our own names and frames, `cases` makes the cases, `rules` accepts or refuses a translation, `scores`
puts an interval about every figure. The sentences themselves stay in the corpus: `frozen.json` holds the SHA-256 of
each carrier and of each kind's cases.

**Kinds that pass case by case** (`digits`, `times`, `number words`, `dates`, `names`, `questions`). A case passes when

1. the value stands in the translation as a French reader would accept it. The renderings are listed in `rules`, one
   function a kind; apostrophes, kinds of spaces and, but in names, upper and lower case are taken as equal. A rendering
   counts as a whole: 45 is not found in 1 450 nor in *quarante-cinq mille*;
2. apart from it, the translation holds no digit (the carriers hold none): no number was invented beside the right one;
3. the rest is not worse than the carrier alone. With the value taken away, the best chrF against the frame's French
   followed (or led) by any of the carrier's references is at least that of the same model's translation of the
   carrier alone, less a tolerance of 15 points: a test reference that loses a word of up to three letters loses 14 on
   average. No more than 60 is ever asked: two people who translate the same test sentence reach 66 on average.
   So the rule says what the value costs, and not that the carrier is translated: a machine that copies the English passes
   most names. Beside it the record tells how many cases pass when the rest must reach a chrF of 40 whatever the carrier
   alone did. That count was added after training; the aims are of the frozen rule.

   In names, the translation gets the carrier's Tom or Mary back first. A question still asks: it ends in a question mark,
   or, where the English left its mark out, has a question's form and no full stop.

Aims: digits 95 %, number words 90 %, names 85 %. The other kinds are shown without an aim.

**Kinds that are measured by BLEU** (`lower case`, `upper case`, `slips`, `two joined`, `long`). The sources are changed,
the references are not: cased, one reference a pair. The figure is the share of the BLEU that the same model reaches on
the same carriers unchanged; for two joined sentences, of the mean of the BLEU of the first ones and that of the second
ones; for `long` (sentences joined to 40 words or more), of the BLEU of all of them one by one.
Aims: lower-cased 95 %, upper-cased 90 %, one slip 80 %, two joined 95 %; and `plain`, the whole test split, 46 BLEU
with one reference a pair.

Intervals are of 95 %: Wilson's for cases that pass, a bootstrap over the cases for BLEU, paired where it is a share.
"""
