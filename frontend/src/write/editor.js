/* An editor for a few lines of Python. */
import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, startCompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { HighlightStyle, bracketMatching, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { EditorState, Prec, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, drawSelection, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";

const style = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--tfm-code-word)", fontWeight: "600" },
  { tag: [tags.string, tags.number], color: "var(--tfm-code-text)" },
  { tag: tags.comment, color: "var(--tfm-soft)", fontStyle: "italic" },
  { tag: tags.definition(tags.function(tags.variableName)), fontWeight: "600" },
]); // as listings are printed

const mark = StateEffect.define();
const fault = Decoration.line({ class: "tfm-fault" });
const faults = StateField.define({
  create: () => Decoration.none,
  update(marks, change) {
    const told = change.effects.find((effect) => effect.is(mark));
    if (told) return told.value ? Decoration.set([fault.range(change.state.doc.line(told.value).from)]) : Decoration.none;
    return change.docChanged ? Decoration.none : marks; // whoever writes has begun to mend it
  },
  provide: (field) => EditorView.decorations.from(field),
});

const named = ({ state: { doc, selection: { main } } }) => main.empty && /[\w.]/.test(doc.sliceString(main.from - 1, main.from)); // the cursor follows a name

/* Where one begins to write in `text`: its first line of dots, which what is typed replaces, or its end. */
function start(text) {
  const dots = /^ *\.\.\.$/m.exec(text);
  const head = dots ? dots.index + dots[0].length : text.trimEnd().length;
  return { anchor: dots ? head - 3 : head, head };
}

/* An editor in `parent` that holds `text`. `changed` hears each change, `submit` Ctrl+Enter; `complete` asks a kernel, after
   Ctrl+Space, or Tab behind a name. */
export function editor(parent, { text, label, changed, submit, complete }) {
  const completions = async (context) => {
    const word = context.matchBefore(/[\w.]+/);
    if (!word && !context.explicit) return null;
    const found = await complete(context.state.doc.toString(), context.pos);
    return found && { from: found.cursor_start, options: found.matches.map((match) => ({ label: match })), validFor: /^[\w.]*$/ };
  };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      selection: start(text),
      extensions: [
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (submit(), true) }, { key: "Tab", run: (view) => acceptCompletion(view) || (named(view) && startCompletion(view)) }])),
        history(), drawSelection(), EditorView.lineWrapping, indentUnit.of("    "), indentOnInput(), bracketMatching(), closeBrackets(), python(),
        syntaxHighlighting(style), faults, autocompletion({ override: [completions], activateOnTyping: false }),
        keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
        EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
      ],
    }),
  });
  return {
    focus: () => view.focus(),
    text: () => view.state.doc.toString(),
    replace: (all) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: all }, selection: start(all) }),
    point: (line) => view.dispatch({ effects: mark.of(line && line <= view.state.doc.lines ? line : null) }),
  };
}
