"""Which words say little, whatever the text? English.

An answer puts what it found into its own frame: "additionally", "various factors", "the article
discusses". Such words are rare in sources, so their rarity alone would make them weigh like facts.
Written from general knowledge.
"""

from functools import lru_cache

from rag_evals.text.words import stem

_FRAME_FACTOR, _GENERAL_FACTOR = 0.2, 0.5
_FRAME = """
additionally also ultimately overall generally finally lastly firstly secondly thirdly fourthly
furthermore moreover consequently hence accordingly meanwhile nevertheless nonetheless otherwise
instead rather indeed actually basically essentially specifically particularly especially
typically usually normally commonly often frequently sometimes occasionally mostly mainly largely
primarily simply merely quite fairly extremely highly really truly certainly definitely clearly
obviously apparently likely possibly perhaps probably potentially roughly approximately nearly
almost completely fully entirely totally already still yet even ever always currently now today
recently eventually initially originally subsequently previously later afterwards soon once again
together apart else etc eg ie namely including regarding concerning according due despite whereas
whether unless until during throughout among amongst along across around within without toward
towards against between behind beside besides beyond near like unlike regardless thereby therein
thereof whereby short conclusion summary addition contrast fact general particular example
instance order well able much many more most less least few several various numerous multiple
certain different similar other further additional extra enough such next first second last away
back down
"""
_GENERAL = """
be become remain seem appear make take give get have use utilize put keep let help allow enable
cause lead result involve include contain consist provide offer show indicate suggest mean refer
relate concern require need want try attempt tend serve act work go come bring turn start begin
continue stop occur happen exist create form ensure consider regard think believe know understand
see look find learn say state mention tell describe explain discuss note report claim argue add
highlight emphasize address cover detail outline summarize present feature focus determine
identify affect influence impact contribute play depend rely vary range differ change increase
improve achieve gain reach handle deal base associate link connect combine apply support face
experience perform carry call name view perceive choose decide follow thing way manner method
approach process practice activity action step measure technique system structure element
component part portion aspect factor characteristic property quality nature type kind sort variety
number amount level degree extent rate quantity lot majority group set series list case situation
circumstance condition context environment area field region place location point position time
period moment year day course reason purpose goal aim objective effect outcome consequence role
function task job issue problem matter question challenge difficulty difference similarity
relationship connection association combination improvement advantage benefit importance
significance value usage requirement possibility potential ability capability opportunity choice
option decision idea concept notion opinion perspective information data fact evidence knowledge
understanding explanation description meaning sense term word person people individual someone
anyone everyone somebody others member user world life event phenomenon occurrence history
background development existence presence addition example instance end beginning important
significant key main major primary essential crucial vital necessary common typical general
specific particular unique special popular known well famous notable good better best great large
big small little long short high low new old recent modern current previous early late possible
available useful helpful effective easy easier difficult harder hard simple complex full whole
entire total own real true right proper appropriate suitable sure clear strong various wide broad
single personal overall additional related relevant responsible interesting natural normal regular
frequent rare usual document passage text article author writer speaker host conversation
discussion email message letter transcript summary story source content topic subject section
paragraph sentence narrator
"""


@lru_cache(maxsize=1)
def vague_factors() -> dict[str, float]:
    """Return by how much the weight of a word key shrinks, 0 to 1; other words keep theirs."""
    factors = {stem(word): _GENERAL_FACTOR for word in _GENERAL.split()}
    return factors | {stem(word): _FRAME_FACTOR for word in _FRAME.split()}
