"""Which words turn a statement round or weaken it? One mask of marks a word."""

DENIES, DENIES_SOFTLY, QUANTIFIES, WEAKENS, INSISTS = 1, 2, 4, 8, 16

_DENYING = """
no not n't never none nobody nothing neither nor without cannot can't won't don't doesn't didn't
isn't aren't wasn't weren't hasn't haven't hadn't wouldn't shouldn't couldn't mustn't hardly
barely scarcely nowhere lack lacks lacked lacking fail fails failed failing unable refuse
refused refuses deny denies denied non не ни нет без никогда никто ничего нигде нельзя невозможно
отсутствует отсутствуют отказался отказалась отказались отказывается никак никакой никаких вряд
"""
# Words that deny in their own way: beside them another denial may say the same.
_DENYING_SOFTLY = """
unless zero absence absent gone cancel cancels cancelled canceled stop stops stopped prevent
prevents prevented avoid avoids avoided lose loses lost rarely seldom few little impossible
difficult hard unlikely unclear unknown uncertain instead rather except too only although
but despite free missing reject rejected forbid forbidden banned end ended against mistake wrong
отсутствие лишен лишена мало редко едва прекратил прекратили перестал перестала кроме вместо
против неизвестно запретил запрещено запрет отменил отменили избежать потерял потеряли трудно
"""
_WEAKENING = """
may might could possibly perhaps probably likely maybe potentially suggests suggest suggested
allegedly reportedly appears appear appeared seems seem seemed plans planned planning proposed
proposes considering considers intends intended hopes hoped hope wants wanted expects expected
expect if whether unless would should supposedly presumably rumored rumoured suspected suspects
promised promises promise aims threatened threatens believed believes feared fears potential
possible unconfirmed wishes wish tries tried attempted attempts offered considered
может могут мог могла могли возможно вероятно наверное видимо кажется якобы предположительно
планирует планируют планировал намерен намерена намерены собирается собираются ожидается
предполагается если бы ли чтобы пусть надеется надеются надеялся обещает обещают обещал хочет
хотят хотел хотела хотели считает считают полагает полагают думает думают уверен уверена уверены
предполагает предполагают подозревает подозревают подозревается опасается опасаются опасность
угроза предложил предложила предложили пытался пыталась пытались попытался хотелось сомневается
необязательно вроде будто словно похоже допустил допускает вряд
"""
_INSISTING = """
certainly definitely surely undoubtedly clearly obviously indeed actually always proven proved
confirmed certain sure fact inevitably invariably unquestionably conclusively already
точно определенно несомненно безусловно конечно действительно очевидно всегда доказано доказан
доказана подтверждено бесспорно уже
"""
QUANTIFIERS = {
    form: group
    for group, forms in {
        "all": "all every each entire entirely always everyone everybody everything whole "
        "completely totally exclusively все всех всем всеми каждый каждая каждое каждого всегда "
        "весь вся всю полностью целиком любой любая",
        "most": "most mostly majority usually generally mainly largely большинство обычно чаще "
        "преимущественно",
        "many": "many numerous often frequently much lots многие много многих часто",
        "some": "some several certain sometimes partly partially некоторые некоторых несколько "
        "иногда частично отчасти",
        "few": "few rarely seldom minority little редко немногие немногих мало меньшинство",
        "none": "none no never nobody nothing никто никогда ничего ни нет",
        "only": "only solely just merely только лишь исключительно единственный единственная",
        "half": "half половина половину половины",
        "over": "over above exceeding exceeds exceeded свыше более больше",
        "under": "under below менее меньше",
    }.items()
    for form in forms.split()
}


def _masks() -> dict[str, int]:
    masks: dict[str, int] = {}
    for mark, forms in (
        (DENIES, _DENYING.split()),
        (DENIES_SOFTLY, _DENYING_SOFTLY.split()),
        (QUANTIFIES, QUANTIFIERS),
        (WEAKENS, _WEAKENING.split()),
        (INSISTS, _INSISTING.split()),
    ):
        for form in forms:
            masks[form] = masks.get(form, 0) | mark
    return masks


MARKS = _masks()
