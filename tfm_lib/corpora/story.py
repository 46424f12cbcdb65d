"""A short English story, written for this book: text for learning sub-words without a network connection."""

import re

STORY = """
The old lighthouse keeper had a radio, a ladder, and a cat called Seven. Every evening she climbed the stairs, lighted the
lamp, and listened to the ships. Most of the ships were talking about the weather. The weather was always the same: wind
from the north, rain from the west, and a little fog before the morning.

One evening the radio said something different. A small ship was looking for the harbour, and nobody on the ship was
speaking her language. The keeper listened again and again. She knew the words for north and south, for water and for
rock, but the speaker was speaking faster than she was thinking, and the words were running together like waves.

"Slowly," she said. "Speak slowly." The speaker did not understand slowly either, so he spoke louder. Speaking louder
never helps. The cat looked at the radio, then at the keeper, and then went on sleeping.

The keeper took a pencil and a newspaper. She wrote down what she was hearing, not the words, only the sounds, one after
the other. Soon she was seeing that some of the sounds were always standing together. Wherever there was one of them, the
other was following. She drew a line around the two and gave them one name, as if they were one sound. Then she looked for
the next two, and for the next. The longer she worked, the fewer pieces there were, and the longer the pieces were.

Some of the pieces were beginnings and some were endings. The endings were the most helpful. There was an ending for more
than one ship, and an ending for yesterday, and an ending for a question. With a few hundred pieces she was reading the
whole message, even the words that she had never heard before, because the newer words were made of the older pieces.

"We are the fishing boat Morning Star," the message said. "We have lost the northern light. We are not far from land, but
we cannot see the land. Is the water deeper on the left or on the right? Our youngest sailor is unwell. The oldest sailor
is unhappy, and he is the one who is cooking."

The keeper thought about her answer for a long time. Then she wrote it with the same pieces, and spoke it into the radio,
slowly, without understanding every word of what she was saying. "Keep the light on the left. The deepest water is between
the tower and the tall rock. Sail slower than you want to. There is bread in the harbour, and there is soup."

Nobody answered. The keeper waited. The wind was blowing harder, and the rain was falling faster, and the lamp was turning
and turning. Somewhere in the darkness a small light was moving, lower than the stars and brighter than the waves. It
moved to the left, and it moved to the right, and at last it was moving nearer.

In the morning there were seven sailors in the kitchen of the lighthouse, eating soup. The youngest was feeling better. The
oldest was the happiest, for he was not cooking. They were all talking at the same time, and the keeper was understanding
more and more. When she did not understand a word she took it apart, looked at the pieces, and guessed. Mostly she was
right. Sometimes she was wrong, and then everybody was laughing, and the cat was looking for a quieter place.

"How did you learn our language in one night?" asked the youngest sailor.

"I did not learn it," said the keeper. "I counted."

The sailors stayed for three days. They painted the door, repaired the ladder, and carried wood up the stairs. In the
evenings they told stories: about the biggest fish and the longest winter, about a singing island and a sinking king,
about a teacher who taught reading to the fishermen and fishing to the readers. The keeper wrote down the new words, and
the pieces of the new words, and the newspaper was getting darker and darker until no room was left on it.

When the Morning Star left the harbour, the radio was the first to know. "Thank you, keeper," it said in her own language,
a little too loud and with the wrong ending. "Thank you, Seven. The weather is good. The wind is from the north, the rain
is from the west, and there will be fog before the morning."
"""


def story_words() -> list[str]:
    """Return the words of the story in lower case, without punctuation."""
    return re.findall(r"[a-z]+", STORY.lower())
