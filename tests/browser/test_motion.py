"""Changes of state ease, may be interrupted, and end exactly at the state; what plays obeys hand, keys and view."""

from __future__ import annotations

import pytest
from tiers import params

from browser.driving import Widget, first, until

REPLAY = "chapters/training", "training/training_replay"
LAST = '[data-stage] [role="gridcell"]:last-child rect'
# What CSS shows of the marks that a change moves, and what their attributes ask for.
SHOWN = """(box) => [...box.querySelectorAll("[data-stage] circle.tfm-dot")].map((dot) => [getComputedStyle(dot).cx, getComputedStyle(dot).cy].map(parseFloat))"""
ASKED = """(box) => [...box.querySelectorAll("[data-stage] circle.tfm-dot")].map((dot) => [dot.getAttribute("cx"), dot.getAttribute("cy")].map(parseFloat))"""
# The same after a change, at each tenth of the way. The clock of the transitions is set by hand, so that a busy machine,
# which paints few frames, sees the same ones; then they go on and the last one is taken when nothing moves any more.
FRAMES = """async (box, value) => {
  const slider = box.querySelector('[data-control="value"]');
  const frames = [];
  const look = () => frames.push([...box.querySelectorAll("[data-stage] circle.tfm-dot")].map((dot) => parseFloat(getComputedStyle(dot).cx)));
  slider.value = value;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise(requestAnimationFrame); // in which the change is drawn and its transitions begin
  const moving = document.getAnimations();
  moving.forEach((animation) => animation.pause());
  for (let tenth = 0; moving.length && tenth < 10; tenth++) {
    moving.forEach((animation) => (animation.currentTime = (animation.effect.getComputedTiming().endTime * tenth) / 10));
    look();
  }
  moving.forEach((animation) => animation.play());
  do await new Promise(requestAnimationFrame);
  while (document.getAnimations().length);
  look();
  return frames;
}"""


@pytest.fixture
def replay(visit) -> Widget:
    """The training replay on its page, of a reader who has not asked for reduced motion."""
    page = visit(REPLAY[0])
    page.emulate_media(reduced_motion="no-preference")
    return first(page, REPLAY[1])


def value(widget: Widget) -> int:
    return int(widget.box.locator('[data-control="value"]').input_value())


def close(found: list[list[float]], wanted: list[list[float]]) -> bool:
    return all(abs(a - b) < 0.01 for one, other in zip(found, wanted, strict=True) for a, b in zip(one, other))


def test_a_change_goes_through_frames_and_ends_at_the_state(replay: Widget) -> None:
    before = [place[0] for place in replay.box.evaluate(SHOWN)]
    frames = replay.box.evaluate(FRAMES, 12)
    asked = replay.box.evaluate(ASKED)
    assert asked[0][0] > before[0] + 30
    between = [frame for frame in frames if before[0] + 1 < frame[0] < asked[0][0] - 1]
    assert len(between) >= 3, frames
    assert [frame[0] for frame in frames] == sorted(frame[0] for frame in frames)
    assert close(replay.box.evaluate(SHOWN), asked)


def test_a_change_can_be_interrupted_at_any_frame(replay: Widget) -> None:
    """A second change starts where the first has come to, and ends as if the first had never been."""
    there, back = 12, 3
    replay.box.evaluate(
        """(box, [there, back]) => {
          const slider = box.querySelector('[data-control="value"]');
          const set = (value) => { slider.value = value; slider.dispatchEvent(new Event("input", { bubbles: true })); };
          const dot = box.querySelector("[data-stage] circle.tfm-dot");
          const at = () => parseFloat(getComputedStyle(dot).cx);
          return new Promise((done) => {
            set(there);
            setTimeout(() => {
              const held = at();
              set(back);
              box.held = [held, at()];
              done();
            }, 90);
          });
        }""",
        [there, back],
    )
    held, after = replay.box.evaluate("(box) => box.held")
    assert abs(held - after) < 1, "it jumps where it is interrupted"
    until(replay.page, "document.getAnimations().length === 0")
    interrupted = replay.look(), replay.box.evaluate(SHOWN)
    replay.box.evaluate(FRAMES, 0)
    replay.box.evaluate(FRAMES, back)
    assert interrupted[0] == replay.look()
    assert close(interrupted[1], replay.box.evaluate(SHOWN))


def test_reduced_motion_has_steps_and_no_way_between(visit) -> None:
    widget = first(visit(REPLAY[0]), REPLAY[1])
    assert {"value back", "value forth"} <= set(widget.controls()) and "value play" not in widget.controls()
    assert len(widget.box.evaluate(FRAMES, 12)) == 1
    assert close(widget.box.evaluate(SHOWN), widget.box.evaluate(ASKED))
    widget.page.emulate_media(reduced_motion="no-preference")
    assert "value play" in widget.controls()


@pytest.mark.long
def test_it_plays_once_and_rests_on_the_last_step(replay: Widget) -> None:
    slider = replay.box.locator('[data-control="value"]')
    last = int(slider.get_attribute("max"))
    replay.box.evaluate(FRAMES, last - 2)
    play = replay.box.locator('[data-control="value play"]')
    replay.box.locator('[data-control="value speed"]').click(click_count=2)  # 4×
    assert play.evaluate("(play) => (play.click(), play.getAttribute('aria-label'))") == "Pause"
    until(replay.page, "document.querySelector('[data-control=\"value play\"]').getAttribute('aria-label') === 'Play'")
    assert value(replay) == last
    shown = "(play) => (play.click(), play.closest('.tfm-card').querySelector('[data-control=\"value\"]').value)"
    assert play.evaluate(shown) == "0", "from its last step it plays from the start"


def test_space_plays_and_pauses_and_arrows_step(replay: Widget) -> None:
    replay.reach("value")
    replay.press("ArrowRight")
    assert value(replay) == 1
    play = replay.box.locator('[data-control="value play"]')
    replay.press("Space")
    assert play.get_attribute("aria-label") == "Pause"
    replay.press("Space")
    assert play.get_attribute("aria-label") == "Play"
    paused = value(replay)
    assert paused >= 2  # one step at once, and more where the machine is slow
    replay.page.wait_for_timeout(900)
    assert value(replay) == paused


@pytest.mark.parametrize("leave", params(["window.scrollTo(0, document.body.scrollHeight)", "head", "value"], ["head"]))
def test_it_stops_out_of_view_and_when_another_control_is_used(replay: Widget, leave: str) -> None:
    play = replay.box.locator('[data-control="value play"]')
    play.click()
    if leave in ("head", "value"):
        replay.box.locator(f'[data-control="{leave}"]').press("ArrowRight")
    else:
        replay.page.evaluate(leave)
    until(replay.page, "document.querySelector('[data-control=\"value play\"]').getAttribute('aria-label') === 'Play'")
    at = value(replay)
    assert at < int(replay.box.locator('[data-control="value"]').get_attribute("max")), "it has played to its end"
    replay.page.wait_for_timeout(900)
    assert value(replay) == at


# The angle and the radius of the fastest hand of position a, in degrees and pixels: on its way after a change, and at its end.
TURNS = """async (box, value) => {
  const hand = [...box.querySelectorAll('[data-stage] g[style*="--tfm-one"] > g > circle')][0].parentElement;
  const now = () => {
    const { a, b } = new DOMMatrix(getComputedStyle(hand).transform);
    return [(Math.atan2(b, a) * 180) / Math.PI, Math.hypot(a, b)];
  };
  const { x } = hand.getBoundingClientRect(); // a layout, from which the change sets out
  box.querySelector('[data-control="value"] [role="slider"], [role="slider"][data-control="value"]').dispatchEvent(new KeyboardEvent("keydown", { key: value, bubbles: true }));
  await new Promise((done) => setTimeout(done));
  const turns = hand.getAnimations();
  const frames = [];
  for (const share of [0.1, 0.2, 0.3, 0.5, 0.7]) {
    for (const turn of turns) {
      turn.pause();
      turn.currentTime = share * turn.effect.getComputedTiming().duration;
    }
    frames.push(now());
  }
  turns.forEach((turn) => turn.finish());
  return [...frames, now()];
}"""


@pytest.mark.parametrize(
    ("key", "way"), [("ArrowRight", 57.3), pytest.param("PageDown", -147.0, marks=pytest.mark.long)]
)
def test_a_hand_turns_on_its_circle_and_the_shorter_way(visit, key: str, way: float) -> None:
    page = visit("chapters/positional")
    page.emulate_media(reduced_motion="no-preference")
    widget = first(page, "positional/encoding")
    widget.box.evaluate(TURNS, "Home")
    frames = widget.box.evaluate(TURNS, key)
    assert frames[-1] == pytest.approx([way, 1], abs=0.1)
    between = [angle for angle, _ in frames if 2 < abs(angle) < abs(way) - 2]
    assert len(between) >= 3 and all(angle * way > 0 for angle in between), frames
    assert all(abs(radius - 1) < 0.01 for _, radius in frames), "it cuts across the circle"


PLAYERS = [
    ("chapters/layers", "layers/gradient_depth", "passed"),
    ("chapters/masking", "masking/mask_editor", "bare"),
]


@pytest.mark.long
@pytest.mark.parametrize("player", params(PLAYERS, PLAYERS[1:2], lambda player: player[1]))
def test_what_plays_step_by_step_ends_where_it_began(visit, player: tuple[str, str, str]) -> None:
    """From its last step it goes back to the first, moves, and comes through all steps to the same picture."""
    where, module, trait = player
    page = visit(where)
    page.emulate_media(reduced_motion="no-preference")
    widget = first(page, module)
    widget.box.locator(f'[data-control="{trait} speed"]').click(click_count=2)  # 4×
    if module == "masking/mask_editor":
        widget.show({"focus": 3})  # the row that is covered last
    before = widget.look()
    widget.box.evaluate(WATCH)
    widget.box.locator(f'[data-control="{trait} play"]').click()
    until(page, "globalThis.looks.size > 2")  # counted in the page: a busy machine asks too seldom to see each step
    until(page, f"""document.querySelector('[data-control="{trait} play"]').getAttribute('aria-label') === 'Play'""")
    assert widget.box.evaluate("(box) => box.moving") > 0
    assert widget.look() == before


WATCH = """(box) => {
  box.moving = 0;
  globalThis.looks = new Set();
  const look = () => {
    looks.add(box.querySelector("[data-stage]").innerHTML);
    box.moving = Math.max(box.moving, document.getAnimations().filter(({ effect }) => box.querySelector("[data-stage]").contains(effect.target)).length);
    requestAnimationFrame(look);
  };
  look();
}"""


def test_a_new_width_is_drawn_at_once(replay: Widget) -> None:
    replay.box.evaluate(FRAMES, 12)
    wide = replay.box.evaluate(ASKED)
    replay.box.evaluate(WATCH)
    replay.page.set_viewport_size({"width": 700, "height": 900})
    replay.page.wait_for_timeout(400)
    assert replay.box.evaluate(ASKED) != wide
    assert replay.box.evaluate("(box) => box.moving") == 0


@pytest.mark.long
def test_what_a_hand_drags_does_not_lag_behind_it(visit) -> None:
    page = visit("chapters/attention")
    page.emulate_media(reduced_motion="no-preference")
    widget = first(page, "attention/soft_lookup")
    query = widget.box.locator('[data-control="value"]')
    at = query.bounding_box()
    x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    widget.box.evaluate(WATCH)
    page.mouse.move(x + 60, y - 40, steps=3)
    page.wait_for_timeout(100)
    assert widget.box.evaluate("(box) => box.moving") == 0
    now = query.bounding_box()
    assert abs(now["x"] - at["x"] - 60) < 2 and abs(now["y"] - at["y"] + 40) < 2
    page.mouse.up()
    query.press("Shift+ArrowLeft")
    page.wait_for_timeout(100)
    assert widget.box.evaluate("(box) => box.moving") > 0, "by keyboard it eases"
