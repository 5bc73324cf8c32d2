# Word lists and patterns read better unbroken.
# ruff: noqa: E501
"""Which words are opposites? One pair of groups a line: every word left against every word right."""

OPPOSITES_ENGLISH = """
increase increased rise grow growth climb surge jump gain soar up higher more raise expand expansion|decrease decreased fall decline drop reduce reduction shrink plunge sink down lower less cut contraction
before prior earlier precede preceding|after following later subsequently
first initial|last final
north northern|south southern
east eastern|west western
north northern|west western east eastern
south southern|west western east eastern
left|right
inside interior indoor internal inner within|outside exterior outdoor external outer
open opened|close closed shut
begin start launch commence|end finish stop cease halt
win victory beat defeat triumph|lose defeat loss
success succeed successful|failure fail unsuccessful
buy purchase acquire|sell sale
import|export
enter arrive|leave depart exit
accept approve agree endorse|reject refuse decline oppose deny
support back favor favour|oppose against reject
allow permit enable|forbid ban prohibit prevent block
include|exclude
possible|impossible
legal lawful|illegal unlawful
true correct right accurate|false incorrect wrong inaccurate
good great excellent positive beneficial|bad poor terrible negative harmful
best|worst
better|worse
strong strength|weak weakness
high|low
large big huge|small tiny little
major|minor
long|short
old ancient|new young modern recent
early|late
hot warm|cold cool
light bright|dark
fast quick rapid|slow
hard difficult|easy simple
rich wealthy|poor
safe secure|dangerous unsafe risky hazardous
healthy|sick ill unhealthy
alive living survive|dead killed
love like|hate dislike
friend ally|enemy foe rival
public|private
male man boy|female woman girl
husband father son brother uncle king|wife mother daughter sister aunt queen
men boys|women girls
parent|child
teacher|student
buyer customer|seller vendor
employer|employee
majority|minority
maximum|minimum
most|least
add|remove subtract
create build|destroy demolish
attack|defend defence defense
innocent acquitted|guilty convicted
present|absent
same identical similar|different distinct
common frequent usual|rare unusual uncommon infrequent
always|never
often frequently|rarely seldom
all every everyone|none nobody
everything|nothing
improve improved|worsen deteriorate
strengthen|weaken
rise|set
peace|war
day|night
morning|evening
summer|winter
spring|autumn
domestic|foreign
local|international global
urban city|rural countryside
natural|artificial
free|paid
cheap inexpensive affordable|expensive costly
full|empty
clean|dirty
wet|dry
heavy|light
thick|thin
wide|narrow
deep|shallow
happy glad pleased|sad unhappy
permanent|temporary
active|inactive passive
direct|indirect
known famous|unknown
visible|invisible
married|divorced single unmarried
optimistic|pessimistic
profit|loss
income revenue|expense
credit|debit
supply|demand
input|output
encourage promote|discourage
confirm|deny
remember|forget
push|pull
send|receive
give|take
borrow|lend
teach|learn
ask|answer
cause|prevent
absorb|emit release
above|below beneath
over|under
front|back behind
top|bottom
near close|far distant
ahead|behind
upstream|downstream
upper|lower
vertical|horizontal
solid|liquid gas
acid acidic|alkaline
sweet|bitter sour
soft|hard
smooth|rough
sharp|blunt
male|female
plaintiff|defendant
liberal progressive|conservative
democrat democratic|republican
left-wing|right-wing
voluntary|mandatory compulsory obligatory
optional|required mandatory
simple|complex complicated
careful|careless
useful|useless
hopeful|hopeless
reject|adopt
pass|fail
convict|acquit
arrest|release free
hire employ appoint|fire dismiss
join|leave quit
love|hatred
advantage benefit|disadvantage drawback
asset|liability
ascend|descend
deny|admit
hide|reveal
appear|disappear vanish
connect|disconnect
lock|unlock
load|unload
tie|untie
appreciate|depreciate
inflate|deflate
accelerate|decelerate slow
freeze|melt thaw
heat|cool
float|sink
expand|contract
attract|repel
even|odd
quiet silent|loud noisy
brave|cowardly
generous|greedy
polite|rude
patient|impatient
regular|irregular
certain sure|uncertain unsure
likely|unlikely
able|unable
fair|unfair
popular|unpopular
stable|unstable
known|unknown
official|unofficial
effective|ineffective
sufficient enough|insufficient
significant|insignificant
dependent|independent
relevant|irrelevant
complete|incomplete partial
adequate|inadequate
mature|immature
perfect|imperfect
rational|irrational
responsible|irresponsible
literate|illiterate
older elder|younger
taller|shorter
faster|slower
closer|farther
stronger|weaker
cheaper|dearer
warmer|colder
greater|smaller
heavier|lighter
longer|shorter
sooner|later
upward|downward
forward|backward
predecessor|successor
ancestor|descendant
host|guest
offline|online
presence|absence
surplus|deficit shortage
monday|tuesday wednesday thursday friday saturday sunday
tuesday|wednesday thursday friday saturday sunday
wednesday|thursday friday saturday sunday
thursday|friday saturday sunday
friday|saturday sunday
saturday|sunday
"""

OPPOSITES_RUSSIAN = """
увеличил увеличилась увеличились увеличение увеличивает вырос выросла выросли выросло рост растет повысил повысилась повышение поднялся поднялась подорожал подорожала|уменьшил уменьшилась уменьшились уменьшение уменьшает снизил снизился снизилась снизились снижение снижает упал упала упали упало падение сократил сократилась сократились сокращение понизил подешевел подешевела
больше более выше|меньше менее ниже
до раньше прежде перед|после позже затем
первый первая первое|последний последняя последнее
север северный северная северной северо|юг южный южная южной
восток восточный восточная восточной|запад западный западная западной
север северный северной|восток восточный восточной запад западный западной
юг южный южной|восток восточный восточной запад западный западной
левый слева|правый справа
внутри внутренний|снаружи внешний вне
открыл открыли открылся открылась открыт открыта открытие|закрыл закрыли закрылся закрылась закрыт закрыта закрытие
начал начала начали начался началась началось начало|закончил закончила закончили закончился закончилась окончание завершил завершился завершилась прекратил конец
победил победила победили выиграл выиграла выиграли победа|проиграл проиграла проиграли поражение
успех успешный удалось|неудача провал неудачный
купил купила купили покупка приобрел|продал продала продали продажа
импорт|экспорт
приехал приехала прибыл прибыла вошел|уехал уехала покинул покинула вышел
принял приняла приняли одобрил одобрила одобрили согласился согласилась|отклонил отклонила отклонили отверг отвергла отказался отказалась
поддержал поддержала поддержали поддерживает|выступил осудил против
разрешил разрешила разрешили разрешено можно|запретил запретила запретили запрещено нельзя
включает|исключает
возможно возможный|невозможно невозможный
законный|незаконный
правда верный правильный верно|ложь неверный неправильный неверно
хороший хорошая хорошо положительный|плохой плохая плохо отрицательный
лучший лучше|худший хуже
сильный сильная сильнее|слабый слабая слабее
высокий высокая|низкий низкая
большой большая крупный крупная|маленький маленькая малый небольшой
длинный длинная|короткий короткая
старый старая старше древний|новый новая молодой молодая младше современный
рано ранний|поздно поздний
горячий теплый жаркий|холодный прохладный
светлый|темный
быстрый быстро быстрее|медленный медленно медленнее
трудный сложный сложно трудно|легкий простой легко просто
богатый|бедный
безопасный|опасный
здоровый|больной
живой выжил выжила выжили|мертвый погиб погибла погибли умер умерла
любит любил любила|ненавидит ненавидел
друг союзник|враг противник
общественный государственный публичный|частный
мужчина мужской мальчик муж отец сын брат дед|женщина женский девочка жена мать дочь сестра бабушка
учитель преподаватель|ученик студент
покупатель|продавец
максимум максимальный|минимум минимальный
добавил добавила добавили|удалил убрал
построил построили создал создали|разрушил разрушили снес снесли
напал атаковал нападение|защитил оборона защита
невиновен оправдал оправдан|виновен осужден осудил
часто|редко
всегда|никогда
все каждый|никто
улучшил улучшилась улучшение|ухудшил ухудшилась ухудшение
усилил усилился|ослабил ослаб
мир|война
день днем|ночь ночью
утро утром|вечер вечером
лето летом летний|зима зимой зимний
весна весной|осень осенью
внутренний|внешний иностранный
городской город|сельский деревня
бесплатный бесплатно|платный платно
дешевый дешево|дорогой дорого
полный|пустой
чистый|грязный
мокрый влажный|сухой
широкий|узкий
глубокий|мелкий
счастлив рад|несчастлив грустный
постоянный|временный
известный|неизвестный
женат замужем|холост разведен
прибыль доход|убыток расход
спрос|предложение
подтвердил подтвердила подтвердили|опроверг опровергла опровергли
арестовал арестован арестовали задержал задержали|освободил освобожден освободили отпустили
нанял назначил назначили|уволил уволили
вступил присоединился|вышел покинул
дал отдал|взял забрал
верхний|нижний
вверх|вниз
сверху|снизу
понедельник|вторник среда среду четверг пятница пятницу суббота субботу воскресенье
вторник|среда среду четверг пятница пятницу суббота субботу воскресенье
среда среду|четверг пятница пятницу суббота субботу воскресенье
четверг|пятница пятницу суббота субботу воскресенье
пятница пятницу|суббота субботу воскресенье
суббота субботу|воскресенье
"""

# What is one of a line's groups is none of its other groups.
ALTERNATIVES = """
red scarlet crimson;blue navy;green;yellow;orange;purple violet;pink;brown;black;white;gray grey;beige
gold golden;silver silvery;bronze
monday mondays;tuesday tuesdays;wednesday wednesdays;thursday thursdays;friday fridays;saturday saturdays;sunday sundays
spring springtime;summer summertime;autumn;winter wintertime
красный красная красное красные красного красной красным;синий синяя синее синие синего синей синим голубой голубая голубое голубые голубого;зеленый зеленая зеленое зеленые зеленого зеленой зеленым;желтый желтая желтое желтые желтого желтой желтым;оранжевый оранжевая оранжевое оранжевые оранжевого;фиолетовый фиолетовая фиолетовое фиолетовые;розовый розовая розовое розовые;коричневый коричневая коричневое коричневые;черный черная черное черные черного черной черным;белый белая белое белые белого белой белым;серый серая серое серые серого
золотой золотая золотое золотые золото;серебряный серебряная серебряное серебряные серебро;бронзовый бронзовая бронзовое бронза
понедельник понедельника;вторник вторника;среду среда;четверг четверга;пятница пятницу пятницы;суббота субботу субботы;воскресенье воскресенья
весна весной весны;лето летом лета;осень осенью осени;зима зимой зимы
"""
