# Word lists and patterns read better unbroken.
# ruff: noqa: E501
"""Which words carry no meaning of their own, and which forms are one word? Tables for `words`."""

_STOP_ENGLISH = """
a an the this that these those it its it's itself he him his himself she her hers herself they them
their theirs themselves we us our ours i me my mine you your yours one ones who whom whose which what
there here is are was were be been being am isn't aren't wasn't weren't has have had having hasn't
haven't hadn't do does did doing done don't doesn't didn't will would shall should can could may might
must cannot can't couldn't won't wouldn't shouldn't of in on at to from by for with as into onto than
then so such and or but nor if because while when where how why also too very just about over upon
through within both each any some other another same own s t re ve ll d m up out off again further
like however thus therefore moreover furthermore additionally although though since per via etc i'm
he's she's that's there's they're we're you're i've you've they've let lets get gets got getting
not no n't
"""
_STOP_RUSSIAN = """
и в во не что он на я с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот
от меня еще нет о из ему теперь когда даже ну вдруг ли если уже или ни быть был него до вас нибудь
опять уж вам ведь там потом себя ничего ей может они тут где есть надо ней для мы тебя их чем была сам
чтоб без будто чего раз тоже себе под будет ж тогда кто этот того потому этого какой ним здесь этом
мой тем чтобы нее были куда зачем при об другой хоть после над тот через эти нас про них какая
это эта этой эту этих этим этими который которая которое которые которого которой которых которым
которую котором свой своя свое свои своего своей своих своим свою своем также является являются
являлся являлась были была было будут чтo та те той тому тех тем теми ее им ими нем наш ваш
"""
STOP_WORDS = frozenset((_STOP_ENGLISH + _STOP_RUSSIAN).split())

# First word: the key; the others are forms that the rules cannot bring to it.
_FORMS = """
go went gone goes
writ wrote written
see saw seen
giv gave given
tak took taken
mak made
say said
know knew known
grow grew grown
begin began begun
becom became
com came
run ran
win won
los lost
buy bought
bring brought
think thought
teach taught
catch caught
sell sold
tell told
hold held
find found
establish founded founder founding founders establishment
build built
send sent
spend spent
leav left
meet met
keep kept
feel felt
mean meant
lead led
pay paid
speak spoke spoken
break broke broken
choos chose chosen choice
driv drove driven driver
ris rose risen
fall fell fallen
fly flew flown flight
draw drew drawn
show shown
wear wore worn
bear bore
eat ate eaten
drink drank drunk
sing sang sung
swim swam swum
sit sat
stand stood
understand understood
fight fought
shoot shot
steal stole stolen
hid hidden hid
rid rode ridden
di died dies dying death dead die
man men
woman women
child children kid kids
person people persons
foot feet
tooth teeth
mous mice
lif life lives
wif wife wives
half halves
bet better best
bad worse worst
old older oldest elder
larg larger largest big bigger biggest
small smaller smallest little
high higher highest
low lower lowest
long longer longest length
begin beginning
marri marriage marry married marries
usa united-states america american americans usa
britain british uk briton britons
franc france french
germani germany german germans
russia russian russians
china chinese
japan japanese
spain spanish spaniard
ital italian
canada canadian canadians
australia australian australians
india indian indians
ukrain ukraine ukrainian ukrainians
poland polish
ireland irish
scotland scottish scots
wales welsh
england english
netherland netherlands dutch
sweden swedish
norwai norway norwegian
denmark danish
greec greece greek
turkei turkey turkish
brazil brazilian
mexico mexican
israel israeli
iran iranian
iraq iraqi
egypt egyptian
korea korean
europ europe european
africa african
asia asian
kilomet km kilometre kilometer kilometres kilometers км километр километра километров
met metre meter metres meters метр метра метров
kilogram kg kilo kilos kilogramme кг килограмм килограмма килограммов
percent percentage per-cent процент процента процентов проценты
dollar dollars usd доллар доллара долларов
euro euros eur евро
pound pounds gbp
rub ruble rubles rouble roubles руб рубль рубля рублей
television tv
photo photograph photos photographs
telephone phone
forbid forbade forbidden
lit litre liter litres liters литр литра литров
gallon gallons
centimet cm centimetre centimeter centimetres centimeters
юг юга югу югом юге
отец отца отцу отцом отце
год год года году годы лет годом годах
человек люди людей людям людьми человека человеку
ребенок дети детей детям ребенка ребенку
идти шел шла шли идет идут пошел пошла
сш сша
мог может могут мог могла могли мочь
женщин женщина женщины женщин женщине
умер умер умерла умерли смерть умирать погиб погибла погибли гибель
"""
CANONICAL: dict[str, str] = {}
for _line in _FORMS.strip().splitlines():
    _key, *_others = _line.split()
    for _form in _others:
        CANONICAL.setdefault(_form, _key)

_ENDINGS = """
ения ение ении ением ений ания ание ании анием аний ость ости остью остей ировать овать ывать
ивать ается яется аются яются ался алась алось ались ился илась илось ились ающий ающая ающие
ающих вший вшая вшие вших енный енная енные енных анный анная анные иями ями ами иям ием иях ией
ого его ому ему ыми ими ой ый ий ая яя ое ее ые ие ых их ую юю ом ем ам ям ах ях ов ев ей а я о
е ы и у ю ь ешь ете ет ут ют ит ат ят ем им ла ло ли ала ало али ила ило или ела ело ели ал ил
ел л ать ить еть ть ают яют ает яет ует уют ован ана ано аны ена ено ены ан ен ия ию ии ского
ской ские ских ском ским ская ский
"""
RUSSIAN_ENDINGS = tuple(
    sorted(
        _ENDINGS.split(),
        key=lambda ending: (-len(ending), ending),
    )
)
