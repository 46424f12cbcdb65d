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

/* An editor in `parent` that holds `text`. `changed` hears each change, `submit` Ctrl+Enter; `complete` asks a kernel. */
export function editor(parent, { text, label, changed, submit, complete }) {
  const completions = async (context) => {
    const word = context.matchBefore(/[\w.]+/);
    if (!word && !context.explicit) return null;
    const found = await complete(context.state.doc.toString(), context.pos);
    return found && { from: found.cursor_start, options: found.matches.map((match) => ({ label: match })), validFor: /^[\w.]*$/ };
  };
  const afterWord = ({ state }) => state.selection.main.empty && /[\w.]/.test(state.sliceDoc(state.selection.main.head - 1, state.selection.main.head));
  const [stub] = text.matchAll(/(?<=^[ \t]*)\.\.\.$/gm); // what is typed first takes its place
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      selection: stub ? { anchor: stub.index, head: stub.index + 3 } : { anchor: text.trimEnd().length },
      extensions: [
        Prec.highest(keymap.of([{ key: "Mod-Enter", run: () => (submit(), true) }])),
        history(), drawSelection(), EditorView.lineWrapping, indentUnit.of("    "), indentOnInput(), bracketMatching(), closeBrackets(), python(),
        syntaxHighlighting(style), faults, autocompletion({ override: [completions], activateOnTyping: false }),
        keymap.of([{ key: "Tab", run: (view) => acceptCompletion(view) || (afterWord(view) && startCompletion(view)) }, ...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
        EditorView.updateListener.of((update) => update.docChanged && changed(update.state.doc.toString())),
      ],
    }),
  });
  return {
    focus: () => view.focus(),
    text: () => view.state.doc.toString(),
    replace: (all) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: all } }),
    point: (line) => view.dispatch({ effects: mark.of(line && line <= view.state.doc.lines ? line : null) }),
  };
}
