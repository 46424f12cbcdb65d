/* What is true in a text about the world of tfm_lib.corpora.stories, as far as it is told.

   world(words)   → { people, where, colours, loves, faults, asked }
   people         names in their order; where[x]  the place, person or container that holds x; colours[thing]
   loves          [who, what] or null
   faults         [{ at, instead }]: the word at that place says what is not so; `instead`, what could stand there
   asked          of a text with a question: { wanted, verdict }: the right answer, "" if it isn't told; the verdict on what
                  follows is "right", "wrong", or "invented" if an answer is made up

   A title says who is there, and who loves what: a story that goes another way has a fault. Sentences of another form are
   passed over, and so is the instruction that asks for a story. */

const NAMED = "the (?:(\\S+) )?(\\S+)"; // colour, thing
const FORMS = {
  meet: /there were (\S+) , (\S+) and (\S+)$/,
  stand: /^(\S+) \S+ in the (\S+)$/,
  lie: `^${NAMED} was in the (\\S+)$`,
  get: /^a (?:(\S+) )?(\S+) was with (\S+)$/,
  love: `^(\\S+) loved ${NAMED}$`,
  pass: `^${NAMED} (?:went|ran) from (\\S+) to (\\S+)$`,
  go: /^(\S+) went from the (\S+) to the (\S+)$/,
  end: `^(?:in the end )?${NAMED} was with (\\S+)(?: , so (\\S+) was (happy|sad))?$`,
};
const TITLE = /^a story(?: of (?:the (.+?)|(\S+)(?: and the (.+?))?))?(?: in \S+ parts)?$/;
const RULES = Object.entries(FORMS).map(([name, form]) => [name, new RegExp(form, "d")]);
const held = ({ colours, where }, thing) => where[thing] && `the ${colours[thing] ? `${colours[thing]} ` : ""}${thing}`;
const loved = (world) => `${world.loves[0]} loved ${held(world, world.loves[1])}`;
const QUESTIONS = [
  [/^where is the (\S+)$/, ({ where }, each) => {
    while (where[each] in where) each = where[each];
    return where[each] && `in the ${where[each]}`;
  }],
  [/^where is (\S+)$/, ({ where }, name) => where[name] && `${name} was in the ${where[name]}`],
  [/^who has the (?:\S+ )?(\S+)$/, (world, thing) => world.where[thing] && `${held(world, thing)} was with ${world.where[thing]}`],
  [/^what colour is the (\S+)$/, ({ colours }, thing) => colours[thing] && `the ${thing} is ${colours[thing]}`],
  [/^what does (\S+) love$/, (world, name) => world.loves?.[0] === name && loved(world)],
  [/^who loves the (?:\S+ )?(\S+)$/, (world, thing) => world.loves?.[1] === thing && loved(world)],
];
const UNTOLD = "the story does not say";

export function world(words) {
  const found = { people: [], where: {}, colours: {}, loves: null, faults: [], asked: null };
  const acts = actsOn(found);
  let begin = words[0] === "tell" ? words.indexOf(":") + 1 || words.length : 0;
  for (let at = begin; at < words.length; at++) {
    if (!".?:".includes(words[at])) continue;
    const sentence = words.slice(begin, at).join(" ");
    if (words[at] === ".") acts.read(sentence, begin);
    if (words[at] === ":") acts.title(sentence);
    if (words[at] === "?") found.asked = question(found, sentence, words.slice(at + 1));
    begin = at + 1;
  }
  return found;
}

function question(found, sentence, [way, colon, ...answer]) {
  const [form, answers] = QUESTIONS.find(([form]) => form.test(sentence)) ?? [];
  if (!form || colon !== ":") return null;
  const wanted = answers(found, sentence.match(form)[1]) || "";
  const right = `${wanted || UNTOLD} .`;
  const said = answer.join(" ");
  const isRight = said === right || (way !== "answer" && said.endsWith(` so ${right}`));
  return { wanted, verdict: isRight ? "right" : wanted ? "wrong" : "invented" };
}

function actsOn(found) {
  const { people, where, colours, faults } = found;
  const things = () => Object.keys(where).filter((each) => !people.includes(each));
  let [all, told, begin] = [false, null, 0]; // whether all people are told; the match of the sentence, and where it begins
  let [hero, wanted] = []; // what a title says

  const fault = (k, instead) => faults.push({ at: begin + told.input.slice(0, told.indices[k][0]).split(" ").length - 1, instead });
  const agrees = (k, truth) => told[k] === truth || fault(k, [truth]);
  function person(k) {
    if (people.includes(told[k])) return;
    if (all) fault(k, people);
    else people.push(told[k]);
  }
  function thing(colour) {
    const name = told[colour + 1];
    if (!(name in where)) return all && fault(colour + 1, things());
    if (told[colour] && colours[name]) agrees(colour, colours[name]);
  }
  const is = (name, k) => (name in where ? agrees(k, where[name]) : (where[name] = told[k]));

  const acts = {
    meet: (...names) => {
      people.push(...names);
      all = true;
      if (hero && !names.includes(hero)) fault(3, [hero]);
    },
    stand: (name) => (person(1), is(name, 2)),
    lie: (_, name) => (thing(1), is(name, 3)),
    get(colour, what, name) {
      if (what in where) fault(2, []);
      person(3);
      where[what] = name;
      if (colour) colours[what] = colour;
    },
    love(name, colour, what) {
      if (hero) agrees(1, hero);
      else person(1);
      thing(2);
      const named = told[0].split(" loved the ")[1];
      if (wanted && named !== wanted) fault(colour ? 2 : 3, [wanted]);
      found.loves = [name, what];
    },
    pass(_, what, from, to) {
      thing(1);
      is(what, 3);
      if (from === to) fault(4, people.filter((name) => name !== from));
      else person(4);
      where[what] = to;
    },
    go(name, from, to) {
      person(1);
      is(name, 2);
      if (from === to) fault(3, []);
      where[name] = to;
    },
    end(_, what, holder, name) {
      thing(1);
      is(what, 3);
      if (!name) return;
      if (found.loves) agrees(4, found.loves[0]);
      agrees(5, where[what] === name ? "happy" : "sad");
    },
  };
  return {
    title(sentence) {
      const [, thing, name, and] = sentence.match(TITLE) ?? [];
      [hero, wanted] = [name, thing ?? and];
    },
    read(sentence, start) {
      for (const [name, form] of RULES) {
        told = sentence.match(form);
        begin = start;
        if (told) return acts[name](...told.slice(1));
      }
    },
  };
}
