/* The film's scenes: one sentence through the whole machine, with the numbers that the shipped model computed for it.

   scenes(film, stage, words)   [{ name, seconds, says: [[u, caption, more], …], draw(u), look(u) }], u from 0 to 1 through the scene; of
                                a caption's parts every second one is a word of the sentences; `more` says what only the picture shows;
                                film is { one, two, plain }, as tfm_lib.widgets._film.record; a sentence of the reader's own has
                                no `two`. look(u) tells which attention is at work: { name, query, key, of, more }, `name` a key of the
                                looks of the sentence `of`                                                                      */

import { clamp, fixed, range, told } from "../../kit/index.js";
import { mix, over } from "./stage.js";

const [LEFT, STEP, LETTER] = [58, 74, 11]; // of the first word; from one to the next, more if they are long
const [KEPT, EACH] = [12, 2]; // numbers shown of a vector, and of each head's
/* How far a scene is when a still picture shows what its captions tell, where that is not at their end. */
const STILLS = { positions: [0.5, 0.79], pours: [0.19, 0.72], residual: [0.3, 0.7], word: [0.5, 0.84], loop: [0.6525], removed: [0.1] };
const [GROUND, FOOT, HIGH] = [400, 372, 84]; // baseline of the words, foot and height of the columns of numbers
const floor = (height) => FOOT - 90 * height; // feet of the columns below the first layer, or as many layers higher
const [TOP, SHORT] = [-16, 30]; // feet of the memory's columns; height of a column in the tower
/* Whole words of the target, each with the row of cross-attention that wrote it. */
function wholeWords({ written, crossed }) {
  const found = [];
  written.slice(1, -1).forEach((piece, i) => {
    if (piece.startsWith("-")) found.at(-1).text += piece.slice(1);
    else found.push({ text: piece, row: crossed[i] });
  });
  return found;
}

/* Places of words in a row: at least STEP apart. */
export function places(words, left, step = STEP) {
  let x = left;
  return words.map((word, i) => (x += i ? Math.max(step, (LETTER * (words[i - 1].length + word.length)) / 2 + 12) : 0));
}

export function scenes({ one, two, plain }, stage, say) {
  const { words, written, focus, step: asked } = one;
  const [n, m] = [words.length, written.length - 1];
  const along = places(words, LEFT);
  const width = Math.max(680, along[n - 1] + 30);
  const end = 92 + width; // where the decoder begins
  const [below, above] = [places(written, end + 40, 62), places(words, end + 60, 62)];
  const decoded = Math.max(720, below[m] - end + 16, above[n - 1] - end + 50);
  const [X, Y, M] = [along, below, above].map((all) => (i) => all[i]); // the source's words, the target's, the memory's
  const CAMERA = {
    words: [10, 150, width, 290],
    look: [10, 64, width, 364],
    heads: [10, -36, width, 464],
    near: [Math.max(10, along[focus] - 210), 155, 420, 267], // the followed word
    tower: [-50, -100, width + 76, 530],
    decoder: [end - 50, -100, decoded + 64, 530],
    whole: [-50, -160, end + decoded + 64, 630],
  };
  const [french, other] = [wholeWords(one), two && wholeWords(two)];
  const shown = places(french.map(({ text }) => text), two ? 34 : 46, two ? STEP + 5 : STEP); // two of them are bold
  const F = (k) => shown[k];
  const heaviest = (row) => row.indexOf(Math.max(...row));
  const animals = two ? words.flatMap((word, i) => (word === two.words[i] ? [] : [i])) : []; // the two that are swapped
  const chats = two ? french.flatMap(({ text }, k) => (text === other[k].text ? [] : [k])) : [];
  const cells = (i, numbers, more) => stage.strip(`x ${i}`, { x: X(i), y: FOOT, numbers, ...more });
  const ground = (u = 1, from = 0) => words.forEach((text, i) => stage.word(`word ${i}`, { x: X(i), y: mix(GROUND - from, GROUND, u), text, step: i % 2, opacity: i === n - 1 ? u : 1, weight: i === focus && !from ? 700 : 500 }));

  function hook(u) {
    stage.look(CAMERA.words);
    const swap = two ? clamp((u - 0.575) / 0.185, 0, 1) - clamp((u - 0.86) / 0.12, 0, 1) : 0;
    const across = over(swap, 0.2, 0.8);
    const crossing = over(u, 0.1, 0.26);
    const partner = (pair, i) => (pair.includes(i) ? pair[1 - pair.indexOf(i)] : i);
    /* A word that changes its place with another goes up or down first, so that it passes the words between them. */
    const trip = (at, pair, y) => (i) => ({ x: mix(at(i), at(partner(pair, i)), across), y: y + 34 * Math.sign(i - partner(pair, i)) * (over(swap, 0, 0.3) - over(swap, 0.7, 1)) });
    const [english, frenchAt] = [trip(X, animals, GROUND - 20), trip(F, chats, 210)];
    words.slice(0, -1).forEach((text, i) => stage.word(`word ${i}`, { ...english(i), size: 22, text, step: i % 2, weight: animals.includes(i) ? 700 : 500 }));
    french.forEach(({ text, row }, k) => {
      const place = frenchAt(k);
      stage.word(`french ${k}`, { ...place, text, step: -(k % 2), size: french.length > 16 ? 16 : 22, colour: "decoder", weight: chats.includes(k) ? 700 : 500 });
      const key = heaviest(row.slice(0, -1));
      const after = two ? other[partner(chats, k)].row : row; // the weights of the other sentence, where the word then stands
      const weight = mix(row[key], Math.max(...after.slice(0, -1)), across);
      const x = mix(X(key), X(heaviest(after.slice(0, -1))), across);
      if (weight > 0.6 || row === one.crossed[asked]) stage.line(`cross ${k}`, { from: [place.x, place.y + 12], to: [x, english(key).y - 22], wide: 8 * weight, opacity: 0.75 * (1 - over(swap, 0, 0.15) + over(swap, 0.85, 1)), drawn: crossing });
    });
  }

  function numbers(u) {
    stage.look(mix(CAMERA.words, CAMERA.look, over(u, 0, 0.2)));
    ground(over(u, 0, 0.15), 20);
    range(n).forEach((i) => cells(i, one.embedded[i], { turn: 90 * (1 - over(u, 0.1 + (0.4 * i) / n, 0.3 + (0.4 * i) / n)), opacity: over(u, (0.4 * i) / n, 0.1 + (0.4 * i) / n) }));
  }

  function positions(u) {
    stage.look(CAMERA.look);
    ground();
    const down = over(u, 0.58, 0.82);
    range(n).forEach((i) => {
      cells(i, mix(one.embedded[i], one.states[0][i], over(u, 0.78, 0.94)));
      stage.strip(`place ${i}`, { x: X(i), y: mix(190, FOOT, down), numbers: one.position[i], colour: "three", opacity: over(u, 0, 0.15) * (1 - over(u, 0.8, 0.94)) });
      stage.word(`number ${i}`, { x: X(i), y: mix(92, 275, down), text: String(i), size: 15, colour: "three", opacity: over(u, 0, 0.15) * (1 - over(u, 0.74, 0.84)) });
    });
  }

  const first = one.looks.first;
  const weights = first.weights[focus];
  const tall = (weight) => (86 * weight) / Math.max(...weights);
  const weightsAbove = (u, shares, base = 176) =>
    shares.forEach((weight, i) => {
      stage.bar(`weight ${i}`, { x: X(i) - 15, y: base - tall(weight) * u, width: 30, height: tall(weight) * u });
      stage.word(`share ${i}`, { x: X(i), y: base - 6 - tall(weight) * u, text: weight.toFixed(2), size: 13, colour: "soft", opacity: u });
    });

  function asks(u) {
    const rise = over(u, 0.02, 0.12);
    const step = Math.min(n - 1, Math.max(0, (u - 0.35) / 0.29) * n);
    const there = Math.floor(step);
    const home = over(u, 0.66, 0.74);
    const place = u < 0.35 ? mix(X(focus), X(0), over(u, 0.28, 0.35)) : mix(X(there), X(Math.min(n - 1, there + 1)), over(step - there, 0.55, 1));
    stage.look(CAMERA.look);
    ground();
    range(n).forEach((i) => cells(i, one.states[0][i], { opacity: i === focus ? 1 : 0.45 }));
    range(n).forEach((i) => {
      const seen = u >= 0.35 && step >= i - 0.3;
      stage.strip(`key ${i}`, { x: X(i), y: mix(FOOT, 262, over(u, 0.04, 0.16)), numbers: first.keys[i].slice(0, KEPT), colour: "key", wide: 20, high: 62, opacity: over(u, 0.04, 0.08), top: 1.6 });
      stage.word(`score ${i}`, { x: X(i), y: 192, text: fixed(1)(one.scores[i]), size: 15, weight: 600, opacity: (seen ? 1 : 0) * (1 - over(u, 0.72, 0.8)) });
    });
    stage.strip("query", { x: mix(place, X(focus), home), y: mix(FOOT, 170, rise), numbers: first.queries[focus].slice(0, KEPT), colour: "query", wide: 20, high: 62, opacity: over(u, 0, 0.08) * (1 - over(u, 0.72, 0.8)), top: 1.6 });
    weightsAbove(over(u, 0.74, 0.88), weights);
  }

  function pours(u) {
    stage.look(CAMERA.look);
    ground();
    range(n).forEach((i) => {
      cells(i, one.states[0][i], { opacity: i === focus ? 1 : 0.45 });
      const turn = over(u, 0, 0.18);
      if (turn < 1) stage.strip(`key ${i}`, { x: X(i), y: 262, numbers: first.keys[i].slice(0, KEPT), colour: "key", wide: 20, high: 62, opacity: 1 - turn, top: 1.6 });
      const go = over(u, 0.3 + 0.03 * i, 0.65 + 0.03 * i);
      stage.strip(`value ${i}`, { x: X(i), y: 262, numbers: one.values[i], colour: "value", wide: 20, high: 62, opacity: turn * mix(1, 0.3, go), top: 1 });
      stage.line(`pour ${i}`, { from: [X(i), 198], to: [X(focus), 136], wide: 26 * weights[i], colour: "value", opacity: 0.55 * (1 - over(u, 0.85, 1)), drawn: go });
    });
    weightsAbove(1 - over(u, 0.2, 0.32), weights);
    stage.strip("mixed", { x: X(focus), y: 134, numbers: one.mixed.map((x) => x * over(u, 0.45, 0.95)), colour: "value", high: 62, opacity: over(u, 0.4, 0.5), top: 0.6 });
  }

  const [BASE, TALL] = [270, 64]; // foot and height of the column that the heads are joined into
  const joined = (opacity) => stage.strip("joined", { x: X(focus), y: BASE, numbers: one.joined, colour: "value", high: TALL, opacity, top: 0.6 });

  function heads(u) {
    stage.look(mix(mix(CAMERA.look, CAMERA.heads, over(u, 0, 0.15)), CAMERA.near, over(u, 0.7, 0.95)));
    ground();
    range(n).forEach((i) => cells(i, one.states[0][i], { opacity: i === focus ? 1 : 0.45 }));
    const rows = one.heads.length;
    const join = over(u, 0.66, 0.84);
    range(rows).forEach((k) => {
      const shown = over(u, 0.04 + 0.06 * k, 0.12 + 0.06 * k);
      const [y, tall] = [-12 + 25 * k, TALL / rows];
      const gone = 1 - over(u, 0.6, 0.7);
      stage.word(`head ${k}`, { x: X(0) - 34, y: y + 15, text: String(k + 1), size: 14, weight: k === first.head ? 700 : 500, opacity: shown * gone });
      range(n).forEach((i) => stage.bar(`cell ${k} ${i}`, { x: X(i) - 32, y, width: 64, height: 21, opacity: shown * gone * (0.06 + 0.94 * one.heads[k][i]) }));
      stage.strip(`result ${k}`, { x: X(focus), y: mix(y + 21, BASE - TALL + tall * (k + 1), join), numbers: one.joined.slice(k * EACH, (k + 1) * EACH), colour: "value", high: mix(21, tall, join), opacity: over(u, 0.54, 0.62) * (1 - over(u, 0.86, 0.88)), top: 0.6 });
    });
    stage.word("heads", { x: X(0) - 46, y: -20, text: say.head_column, size: 14, colour: "soft", anchor: "start", opacity: over(u, 0.04, 0.1) * (1 - over(u, 0.6, 0.7)) });
    joined(over(u, 0.84, 0.87));
    const gone = 1 - over(u, 0, 0.1);
    if (gone) stage.strip("mixed", { x: X(focus), y: 134, numbers: one.mixed, colour: "value", high: 62, opacity: gone, top: 0.6 });
  }

  function residual(u) {
    stage.look(CAMERA.near);
    ground();
    const [first, wide, second] = [over(u, 0.2, 0.42), over(u, 0.54, 0.66) - over(u, 0.74, 0.84), over(u, 0.84, 0.96)];
    range(n).forEach((i) => {
      const x = mix(mix(one.states[0][i], one.between[i], over(u, 0.3, 0.42)), one.states[1][i], second);
      cells(i, x, { opacity: i === focus ? 1 : 0.45 });
    });
    joined(1 - over(u, 0.04, 0.16)); // multiplied by W_O it becomes what is added
    stage.strip("added", { x: X(focus), y: mix(BASE, FOOT, first), numbers: one.added, colour: "encoder", high: TALL, opacity: over(u, 0.04, 0.14) * (1 - over(u, 0.38, 0.46)), top: 1 });
    stage.word("plus", { x: X(focus) + 26, y: FOOT - 34, text: "+", size: 26, weight: 700, opacity: over(u, 0.2, 0.3) * (1 - over(u, 0.42, 0.48)) + second * (1 - over(u, 0.93, 1)) });
    if (u > 0.46) {
      stage.box("ff", { x: mix(X(focus) - 10, X(focus) - 120, wide), y: 168, width: mix(20, 240, wide), height: 70, colour: "encoder", fill: "card", opacity: over(u, 0.46, 0.52) * (1 - over(u, 0.9, 0.98)) });
      range(32).forEach((i) => stage.bar(`unit ${i}`, { x: mix(X(focus), X(focus) - 112 + 7.1 * i, wide), y: 178, width: 5, height: 50, colour: "encoder", opacity: wide * (0.08 + (0.92 * one.units[i]) / Math.max(1, ...one.units)) }));
      stage.strip("thought", { x: X(focus), y: mix(238, FOOT, over(u, 0.82, 0.92)), numbers: one.thought, colour: "encoder", high: 64, opacity: over(u, 0.78, 0.84) * (1 - over(u, 0.92, 0.98)), top: 1 });
    }
  }

  const ENCODER = { name: "around", left: -40, wide: width + 56, colour: "encoder", at: X, states: one.states, looks: one.around };
  const DECODER = { name: "back", left: end - 40, wide: decoded + 44, colour: "decoder", at: Y, states: one.rising, looks: [one.looks_back] };
  /* The layers of a side, and what is in them: row i has come as high as height(i), which counts the layers. In each a row looks at the
     others, if those weights are in the record, and the layer adds its result; what has passed remains in sight. */
  const layers = ({ name, left, wide, colour, at, states, looks }, count, height = () => 3, opacity = 1, brief = stage.isNarrow()) =>
    range(4).forEach((l) => {
      const low = floor(l) - 37; // of the layer's box
      const rows = range(count).map((i) => [i, at(i), height(i) - l]);
      rows.forEach(([i, x, up]) => up > -1 && stage.strip(`${name} ${l} ${i}`, { x, y: floor(l + Math.min(0, up)), numbers: mix(states[Math.max(0, l - 1)][i], states[l][i], over(up, -0.45, -0.05)), colour, high: SHORT, opacity: opacity * (up > 0 ? 0.7 : 1) }));
      if (l > 2) return;
      stage.box(`layer ${name} ${l}`, { x: left, y: low - 46, width: wide, height: 46, colour, fill: "card", opacity: opacity * clamp(Math.max(0, ...rows.map(([, , up]) => up)), 0.35, 1) });
      stage.word(`layer name ${name} ${l}`, { x: left + 8, y: low - 18, text: brief ? String(l + 1) : told(say.layer, { layer: l + 1 }), size: 14, colour, anchor: "start", opacity });
      for (const [i, x, up] of rows) {
        if (up <= 0) continue;
        looks[l]?.[i].forEach((weight, j) => weight > 0.1 && stage.line(`${name} ${l} ${i} ${j}`, { from: [at(j), low], to: [x, low - 46], wide: 6 * weight, opacity: opacity * mix(0.8, 0.4, over(up, 0, 1)), drawn: over(up, 0, 0.5) }));
        stage.strip(`adds ${name} ${l} ${i}`, { x: x + mix(26, 20, over(up, 0.3, 0.6)), y: low - 10, numbers: states[l + 1][i].map((x, k) => x - states[l][i][k]), colour, wide: 10, high: 26, opacity: opacity * over(up, 0.3, 0.6) });
      }
    });

  function tower(u) {
    stage.look(mix(CAMERA.near, CAMERA.tower, over(u, 0, 0.2)));
    ground();
    layers(ENCODER, n, () => 3 * clamp((u - 0.2) / 0.75, 0, 1), over(u, 0.1, 0.2));
    const gone = 1 - over(u, 0, 0.2);
    if (gone) range(n).forEach((i) => cells(i, one.states[1][i], { opacity: gone * (i === focus ? 1 : 0.45), high: mix(SHORT, HIGH, gone) }));
  }

  const kept = (at, y, numbers, more) =>
    range(n).forEach((i) => {
      const place = { x: at(i), y, ...more?.(i) };
      stage.strip(`x ${i}`, { ...place, numbers: numbers(i), high: SHORT });
      stage.word(`memory ${i}`, { ...place, y: y - SHORT - 8, step: -(i % 2), text: words[i], size: 16, colour: "encoder", weight: place.opacity > 0.7 ? 700 : 500, opacity: 1 });
    });

  function memory(u) {
    const [up, go] = [over(u, 0, 0.2), over(u, 0.2, 0.85)];
    stage.look(mix(CAMERA.tower, CAMERA.decoder, go));
    if (go < 1) ground(), layers(ENCODER, n);
    layers(DECODER, 0, undefined, over(u, 0.4, 0.8));
    kept((i) => mix(X(i), M(i), over(u, 0.2 + 0.02 * (n - i), 0.7 + 0.02 * (n - i))), mix(floor(3), TOP, up), (i) => mix(one.states[3][i], one.memory[i], up));
  }

  /* The memory over the decoder, and `read` of its ways into the layers. */
  const remembered = (shares, read = 0) => {
    range(n).forEach((i) => stage.line(`read ${i}`, { from: [M(i), TOP], to: [M(i), floor(0.7)], colour: "encoder", opacity: 0.3, drawn: read }));
    kept(M, TOP, (i) => one.memory[i], (i) => shares && { opacity: 0.35 + 0.65 * Math.min(1, 1.3 * shares[i]) });
  };
  const line = (count, more) => range(count).forEach((j) => stage.word(`target ${j}`, { x: Y(j), y: GROUND, text: written[j], size: 19, step: j % 2, colour: "decoder", ...more?.(j) }));

  const seen = Math.min(2, m - 1); // the last word before the card
  function card(u) {
    stage.look(CAMERA.decoder);
    remembered(0, over(u, 0, 0.2));
    line(m, (j) => ({ opacity: over(u, 0.01 * j, 0.04 + 0.01 * j) }));
    const at = seen + 0.6 * (m - seen) * clamp((u - 0.7) / 0.3, 0, 1); // the card gives one word after another free
    layers(DECODER, m, (j) => 3 * (j > seen ? clamp(at - j, 0, 1) : over(u, 0.6, 0.75)));
    const edge = mix(end + decoded, mix(Y(Math.floor(at)), Y(Math.ceil(at)), at % 1) + 31, over(u, 0.44, 0.6));
    stage.box("card", { x: edge, y: FOOT - SHORT - 5, width: end + decoded - edge, height: 110, colour: "soft", fill: "w0", opacity: over(u, 0.42, 0.48), over: true });
    stage.word("future", { x: edge + 20, y: FOOT, text: say.future, size: 17, colour: "soft", anchor: "start", opacity: over(u, 0.58, 0.66), over: true });
  }

  const WITHIN = 0.5; // of a layer: there its row asks the memory
  const asking = (layer, j, weights, drawn, opacity) =>
    range(n).forEach((i) => weights[i] > 0.01 && stage.line(`cross ${layer} ${j} ${i}`, { from: [Y(j), floor(layer) - 60], to: [M(i), TOP + 5], wide: 20 * weights[i], opacity: 0.75 * opacity, drawn }));
  /* The decoder with the words so far, of which the last has come to a height. */
  const writing = (j, height, shares) => {
    remembered(shares);
    line(j + 1, (k) => ({ weight: k === j ? 700 : 500 }));
    layers(DECODER, j + 1, (k) => (k === j ? height : 3));
  };

  function cross(u) {
    const j = asked;
    const rises = [[0, 0.1], [0.28, 0.36], [0.5, 0.6]]; // into each layer, where the row stops and asks
    const height = WITHIN * over(u, ...rises[0]) + over(u, ...rises[1]) + over(u, ...rises[2]) + (1 - WITHIN) * over(u, 0.86, 1);
    stage.look(CAMERA.decoder);
    writing(j, height, over(u, 0.66, 0.78) && one.crossed[j]);
    rises.forEach(([, from], l) => asking(l, j, one.asked[l], over(u, from, from + 0.14), l < 2 ? 1 - over(u, from + 0.14, from + 0.2) : 1));
  }

  function word(u) {
    const j = asked;
    const right = Y(0) + 0.42 * decoded; // of the bars's words
    const fly = over(u, 0.66, 0.92);
    stage.look(CAMERA.decoder);
    writing(j, 3, one.crossed[j]);
    asking(2, j, one.crossed[j], 1, 1 - over(u, 0, 0.15));
    one.next[j].forEach(([text, p], k) => {
      const y = 4 + 21 * k;
      const [shown, chosen] = [over(u, 0.1 + 0.05 * k, 0.25 + 0.05 * k), k === 0];
      stage.bar(`chance ${k}`, { x: right, y: y - 15, width: Math.max(3, 220 * p * shown), height: 16, colour: "decoder", opacity: shown * (1 - fly) });
      stage.word(`chance p ${k}`, { x: right + 220 * p + 12, y, text: p.toFixed(3), size: 16, colour: "soft", anchor: "start", opacity: shown * (1 - fly) });
      stage.word(`chance word ${k}`, { x: chosen ? mix(right - 40, Y(j + 1), fly) : right - 40, y: chosen ? mix(y, GROUND, fly) : y, text, size: 17, colour: "decoder", weight: chosen ? 700 : 500, opacity: shown * (chosen ? 1 : 1 - fly) });
    });
  }

  const reached = (u) => asked + 1 + Math.min(0.9999, u / 0.9) * (m - 1 - asked); // the word that is written, and how far it is

  function loop(u) {
    const j = Math.floor(reached(u));
    const within = reached(u) - j;
    stage.look(CAMERA.decoder);
    writing(j, (2 + WITHIN) * over(within, 0, 0.28) + (1 - WITHIN) * over(within, 0.5, 0.62), one.crossed[j]);
    asking(2, j, one.crossed[j], over(within, 0.28, 0.5), 1 - over(within, 0.5, 0.65));
    stage.word("comes", { x: Y(j + 1), y: mix(floor(3) - 20, GROUND, over(within, 0.64, 0.97)), text: written[j + 1], size: 19, colour: "decoder", weight: 700, opacity: over(within, 0.58, 0.68) });
  }

  /* The whole machine, at rest: all that passed through it is in sight. */
  function whole(u) {
    stage.look(mix(CAMERA.decoder, CAMERA.whole, over(u, 0.05, 0.5)));
    const shown = over(u, 0.3, 0.5);
    layers(ENCODER, n, undefined, 1, true);
    layers(DECODER, m, undefined, 1, true);
    range(n).forEach((i) => {
      stage.strip(`x ${i}`, { x: M(i), y: TOP, numbers: one.memory[i], high: SHORT });
      stage.line(`kept ${i}`, { from: [X(i), floor(3) - SHORT], to: [M(i), TOP - SHORT], colour: "encoder", opacity: 0.5 * shown, drawn: over(u, 0.3, 0.6) });
    });
    range(m).forEach((j) => asking(2, j, one.crossed[j].map((weight) => 0.6 * weight), 1, 0.8));
    const size = Math.min(52, (1.8 * (end + decoded)) / one.translation.length);
    stage.word("read", { x: -40, y: 450, text: one.sentence, size, anchor: "start", opacity: shown });
    stage.word("wrote", { x: end + decoded + 4, y: -106, text: one.translation, size, colour: "decoder", weight: 700, anchor: "end", opacity: over(u, 0.5, 0.65) });
  }

  function removed(u) {
    stage.look(CAMERA.words);
    const rows = two ? [[one, -6], [two, 134]] : [[one, 60]];
    rows.forEach(([each, down], r) => {
      each.words.slice(0, -1).forEach((text, i) => stage.word(`plain ${r} ${i}`, { x: X(i), y: 240 + down, text, size: 19, step: i % 2, weight: animals.includes(i) ? 700 : 500 }));
      each.words.slice(0, -1).forEach((_, i) => stage.word(`plain place ${r} ${i}`, { x: X(i), y: 262 + down + 40 * over(u, 0.08, 0.3), text: String(i), size: 13, colour: "three", opacity: 1 - over(u, 0.08, 0.3) }));
      const change = over(u, 0.32, 0.5);
      stage.word(`plain french ${r}`, { x: X(0) - 20, y: 204 + down, text: change < 0.5 ? each.translation : plain, size: two || plain.length < 28 ? 22 : 15, colour: change < 0.5 || each.translation === plain ? "decoder" : "broken", anchor: "start", weight: 600, opacity: Math.abs(2 * change - 1) });
    });
  }

  const most = (name, query, of = one) => ({ name, query, key: heaviest(of.looks[name].weights[query]), of });
  const lookAt = {
    hook: (u) => most("cross", asked, two && u > 0.65 && u < 0.92 ? two : one),
    asks: (u) => ({ ...most("first", focus), ...(u < 0.64 && { key: Math.max(0, Math.floor(((u - 0.35) / 0.29) * n)) }) }),
    tower: (u) => most(u > 0.5 ? "last" : "first", focus),
    memory: () => most("last", focus),
    card: () => most("own", seen),
    cross: () => most("cross", asked),
    word: () => most("cross", asked),
    loop: (u) => most("cross", Math.min(m - 1, Math.floor(reached(u)))),
    removed: () => ({ ...most("first", focus), more: say.with }),
    whole: () => most("cross", asked),
  };
  const drawn = { hook, numbers, positions, asks, pours, heads, residual, tower, memory, card, cross, word, loop, removed, whole };
  const listed = (pairs, digits) => pairs.map(([word, share]) => `${word} ${share.toFixed(digits)}`).join(", ");
  const names = {
    ...one.names, plain, sentence: one.sentence, translation: one.translation, other: two?.sentence, french: two?.translation,
    weights: listed(words.map((word, i) => [word, weights[i]]), 2), ways: listed(one.next[asked], 3),
  };
  const own = (name) => (!two && `${name}_own` in say.scenes ? `${name}_own` : name);
  return Object.entries(drawn).map(([name, draw]) => ({
    name, draw, stills: STILLS[name],
    seconds: say.seconds[own(name)],
    says: say.scenes[own(name)].map(([from, caption, more = ""]) => [from, caption.split("*").map((part) => told(part, names)), told(more, names)]),
    look: lookAt[name] ?? (() => most("first", focus)),
  }));
}
