"""A small, deterministic model that resolves a request by the words of what it can see.

It stands behind `ask` where there is no key and no network, and it can lead a plain conversation. It knows nothing but
what its request holds: what was said, the tools with their descriptions and schemas, their results, and the section
with the inherited conversation, if there is one. It knows no kind of record and no sample. The same request gives the
same reply, always.

How it chooses a record (where there is a tool `answer`)
  1. It looks up the words of the request, alone and together with the words that stand beside them in the history.
     Where the request names nothing ("her address"), it looks up what was spoken of last. (`model`)
  2. Any object in a result that has the key which `answer` asks for is a record. (`records`)
  3. The request rules out what it can. If it singles out one record, that is the answer; without a history nothing
     else is one. (`choice`)
  4. What it leaves open is weighed by the history. The conversation is in *focus* at its end, where the request came
     from, and focus spreads from there: to what the last saying points back to, along turns, and through telling words
     to whatever else was said about the same matter. (`focus`)
  5. The words that tell the open records from each other (a surname, a department, a word of a title) count as far as
     they stand in focus. It also counts who spoke, how long ago, whether someone wanted something where something is to
     be sent, and whether it was denied, refused or taken back since. How often something is mentioned does not count.
     A record that was never mentioned together with what was asked for counts less. (`evidence`, `history`)
  6. The best record must be clearly ahead of each other one by what tells just these two apart; if not, the model asks
     back and names those that may be meant. Text in the history is evidence and never an instruction.

     What only states the request once more ("send the plan to Ann", before "the plan" is asked for) is left out of
     the history: it tells nothing about which plan is meant. (`restated`)

How it talks (where there are tools that ask, do things, or start tasks)
  1. The tools are read for what they are for: some ask, some do something, some start and steer tasks. (`kit`)
  2. What is said is searched for orders: a verb of a tool at the beginning of a sentence, with nothing but courtesy
     before it. Steering ("stop the task"), what is to be done "in the background", questions and short names are
     understood, too; a longer statement is taken note of. (`wishes`, `speech`)
  3. A question goes to the asking tools whose own words it fits, to all of them where none fits better; a name of two
     words with a word of what is wanted of it starts cold, all else by the tool's default. (`talk`)
  4. An order's parameters are filled from what the asking tools find: which of them is asked for which parameter is
     said by the words of both ("`to` is an address", "Ann's address"), and which field of the record it takes by the
     field's name and look. (`talk`, `found`)
  5. What a tool asks back is passed on with its options by number; the next thing said chooses one, by number or
     words, and the order goes on from there. (`turns`)
  6. Each reply is worked out anew from the messages: whatever was found is not asked again, and no deed is done twice.

Where it fails, knowingly
  - In a conversation it understands orders and questions and nothing else. It cannot sum up, compare, compute, write a
    text of its own or code, read an answer out of a file, or combine what two tools say. It says that it is no language
    model where it finds nothing.
  - A condition ("once it is done") it cannot judge, so it does nothing and says so. It does not know what "me" is, nor
    two recipients in one order.
  - A verb that no tool is named by, and that is not a common word for handing something on, is no order to it.
  - It has no knowledge of the world. That ricotta is cheese, or that a molar is a matter for a dentist, it cannot know;
    it asks back unless some word connects the two.
  - It understands no sentences. Irony, conditions ("if Ann agrees, then Bo"), who did what to whom, and denials that
    are far from what they deny are lost on it. A correction works if it names what is meant ("not the blue one, the
    red one"), less surely if it only hints.
  - A word that two matters share by chance connects them. It guards against words of dealings, time and courtesy, not
    against all. So it may be wrong where a conversation brings up the right word for the wrong reason.
  - Pronouns point to what came last; there is no gender and no number. "The first one" and "the other one" mean
    nothing.
  - It reads English best, German and French less well, and other languages only as far as names and rare words carry.
  - It chooses one record. It does not count, and it plans no further than an order's own parameters.
On three sets of invented conversations, each new when it was measured, it was right in 63 of 84 questions, asked back
in 13 where a person could tell, and chose wrongly in 8. tests/test_lexical_worlds.py keeps the conversations, the
last set unseen.
"""

from host.models.lexical.model import Lexical
from host.models.lexical.weights import Weights

__all__ = ["Lexical", "Weights"]
