"""Which words may stand for one another? Groups between semicolons; a word may be in several.

Written from general knowledge, as a school thesaurus has it, without a look at labelled data.
"""

SYNONYMS_ENGLISH = """
say state declare announce tell claim assert remark; explain describe clarify; discuss debate
talk; talk speak conversation; ask inquire question; answer reply respond response; suggest
propose recommend; advise recommend; show demonstrate display indicate; show reveal; reveal
disclose expose; find discover detect; find locate; include contain comprise; include involve;
provide supply offer give; give donate grant; get obtain receive acquire; buy purchase acquire;
sell market; use utilize utilise employ apply; help assist aid support; let allow permit enable;
make create produce; produce manufacture; build construct erect; building construction; create
establish found; found establish set; design develop devise; begin start commence; start launch;
end finish conclude complete; end terminate; stop halt cease; stop prevent; continue proceed
persist; remain stay; increase rise grow growth; increase raise boost; rise climb; decrease
decline drop fall; decrease reduce lower reduction; reduce cut; improve enhance better; damage
harm hurt; hurt injure wound; destroy ruin demolish; change alter modify; fix repair; move shift;
move transfer; journey trip travel voyage; visit tour; come arrive; leave depart; carry transport;
bring deliver; send dispatch; put place; throw toss; run operate; manage direct run; lead head;
leader head chief boss; control govern; rule govern; choose select pick; choice option; decide
determine; think believe consider; regard consider; know understand; study research; study examine
investigate; analyze analyse examine; researcher scientist; see look watch view observe; hear
listen; try attempt; want wish desire; need require; work job employment; job position occupation;
employ hire; worker employee; fire dismiss; company firm business corporation enterprise;
organization organisation association; group band team; member participant; part portion section
piece; kind type sort; example instance; way method manner; method technique approach; problem
issue difficulty; difficult hard; easy simple; important significant; important key crucial vital
essential; main major principal chief primary; big large huge great; small little tiny; many
numerous; several various multiple; good great excellent; bad poor terrible; new recent; new
modern; old ancient; old elderly; former previous; current present; fast quick rapid swift; high
tall; different distinct; same identical; similar alike; special particular specific; common
frequent usual; normal usual typical; rare uncommon; famous known renowned celebrated; popular
famous; beautiful attractive pretty; happy glad pleased; sad unhappy; angry furious; afraid scared
frightened; sick ill; illness sickness disease; doctor physician medic; medicine medication drug;
treat cure; treatment therapy; hospital clinic; die death; die perish; kill murder slay; attack
assault; war conflict; fight battle combat; army military; soldier troop; protest demonstration;
police cop; police officer; arrest detain; criminal offender; crime offense offence; prison jail;
accuse charge; court tribunal; lawyer attorney; law legislation; rule regulation; agree consent;
agreement deal treaty; approve accept; reject refuse; oppose object; avoid evade; protect defend
guard; save rescue; keep retain; keep maintain; meet encounter; meeting gathering conference;
gather collect; event occurrence incident; happen occur; cause lead; result outcome; effect impact
influence; reason cause; goal aim purpose objective; plan scheme; program programme; show program;
film movie picture; song track; singer vocalist; actor actress; play perform; book novel; writer
author; write compose; article piece; story tale; report account; newspaper paper; picture photo
image photograph; house home; home residence; live reside; resident inhabitant; city town; town
village; country nation state; region area zone; area district; place location site; road street;
street avenue; school college; university college; student pupil; teacher instructor; professor
teacher; child kid; child youngster; baby infant; boy child; girl child; woman lady female; man
guy male gentleman; people person human; person individual; friend companion; wife spouse; husband
spouse; parent mother father; mother mom mum; father dad; car vehicle automobile; truck vehicle;
bus vehicle; plane aircraft airplane; ship boat vessel; bike bicycle; customer client; buyer
customer; seller vendor; shop store; product good; thing item object; equipment gear; tool
instrument; device machine; computer machine; money cash; cost price; pay salary wage; pay
payment; income revenue; profit gain; rich wealthy; poor impoverished; cheap inexpensive;
expensive costly; test trial; test exam; amount quantity; whole entire complete; total entire;
nearly almost; approximately about roughly around; enough sufficient; extra additional; win
victory; beat defeat; lose loss; game match; player athlete; competition contest; compete
competition; strong powerful; strength power; safe secure; danger risk threat; dangerous risky
hazardous; possible potential; likely probable; certain sure; true correct right; wrong incorrect;
false untrue; real actual genuine; idea concept; meaning sense; opinion view; information data;
word term; name call; call phone; message note; language tongue; year annual; day daily; month
monthly; week weekly; food meal; eat consume; drink consume; fire blaze; rain rainfall; storm
hurricane; cold cool; hot warm; earth world; world globe; international global worldwide; sea
ocean; river stream; mountain hill; forest wood; animal creature; dog puppy; cat kitten; walk
stroll; run jog; jump leap; sit seat; sleep nap; wait await; like enjoy; love adore; hate dislike;
fear worry; worry concern; surprise shock; strange odd unusual; funny amusing; laugh giggle; cry
weep; shout yell scream; quiet silent; bright light; clear obvious evident; hidden secret; private
personal; legal lawful; illegal unlawful; government administration; government authority;
president leader; vote ballot; elect choose; freedom liberty; free release; publish release issue;
appear seem; become turn; return back; repeat again; connect link join; join unite; combine merge;
separate divide split; break shatter; close shut; open unlock; cover wrap; fill load; empty
vacant; clean wash; crop harvest; farm agriculture; farmer agriculture; industry sector; trade
commerce; tax levy; success achievement; achieve accomplish; reach achieve; failure fail; disaster
catastrophe; accident crash; escape flee; hide conceal; search seek; follow pursue; remove delete;
remove eliminate; replace substitute; order command; force compel; push press; pull drag;
encourage urge; promote encourage; advertisement ad commercial; admit confess; admit acknowledge;
deny refute; confirm verify; check inspect; calculate compute; measure gauge; compare contrast;
fit suit; portray depict; represent depict; express voice; mention refer cite; focus concentrate;
emphasize stress; celebrate commemorate; prize award; skill ability talent; ability capability;
efficient effective; speed velocity; size dimension; shape form; color colour; substance material;
rock stone; soil ground; land territory; border boundary; edge border; center centre middle; top
peak; near close; far distant; often frequently; always constantly; sometimes occasionally; now
currently; today currently; soon shortly; later afterward; finally eventually; suddenly abruptly;
quickly rapidly; slowly gradually; completely fully entirely totally; mostly mainly largely; only
solely; also additionally; birth born; marry wed; wedding marriage; bury grave; head chairman;
chairman chairwoman chair; minister secretary; king monarch; queen monarch; capital city; church
cathedral; holy sacred; belief faith; church religious; planet world; space cosmos; star sun;
century era; period era age; moment instant; career profession; education schooling; graduate
degree; illness condition; pain ache; sick patient; blood bleed; heart cardiac; brain mental;
electricity electric electrical; energy power; gas vapor; liquid fluid; heat temperature; oil
petroleum; light illumination; sound noise; error mistake; fault blame; contain hold; last final;
initial first; second next; own possess; owner proprietor; belong own; near beside; under beneath
below; over above; across through; inside within; outside exterior
"""

SYNONYMS_RUSSIAN = """
сказать сказал заявить заявил сообщить сообщил отметить отметил рассказать рассказал объявить
объявил говорить говорил; начать начал приступить приступил стартовать стартовал начало старт;
закончить закончил завершить завершил окончить окончил окончание завершение; умереть умер
скончаться скончался погибнуть погиб смерть гибель; убить убил застрелить застрелил убийство;
привезти привез доставить доставил; больница госпиталь клиника; врач доктор медик; болезнь
заболевание недуг; больной пациент; лечение терапия; женщина дама; мужчина парень; мальчик
ребенок; девочка ребенок; дети ребята малыши; человек люди; житель население горожанин; полиция
милиция; полицейский милиционер; задержать задержал арестовать арестовал поймать поймал;
преступник злоумышленник; преступление правонарушение; тюрьма колония заключение; авария
катастрофа столкновение; машина автомобиль; водитель шофер; дорога шоссе трасса; самолет лайнер;
корабль судно; город мегаполис; страна государство; правительство кабинет; президент глава; глава
руководитель начальник директор; депутат парламентарий; решение постановление; разрешить разрешил
позволить позволил; запретить запретил запрет; купить купил приобрести приобрел покупка
приобретение; продать продал продажа; деньги средства; цена стоимость; вырасти вырос увеличиться
увеличился повыситься повысился рост увеличение повышение; снизиться снизился упасть упал
уменьшиться уменьшился сократиться сократился снижение падение сокращение уменьшение; большой
крупный огромный; маленький небольшой; важный значимый; хороший отличный прекрасный; плохой
скверный; новый свежий; старый прежний древний; построить построил возвести возвел строительство
постройка; создать создал основать основал создание основание; найти нашел обнаружить обнаружил;
открыть открыл обнаружить обнаружил открытие; показать показал продемонстрировать
продемонстрировал; получить получил приобрести приобрел; дать дал предоставить предоставил; помочь
помог помощь поддержка; хотеть хотел желать желал намерен; решить решил постановить постановил;
думать думал считать считал полагать полагал; видеть видел увидеть увидел заметить заметил;
смотреть смотрел наблюдать наблюдал; работа труд; работать работал трудиться трудился; сотрудник
работник служащий; компания фирма предприятие организация; завод фабрика предприятие; школа
гимназия лицей; университет вуз институт; ученик школьник; студент учащийся; учитель преподаватель
педагог; ученый исследователь; исследование изучение; война конфликт; армия войска; солдат
военнослужащий боец; нападение атака; напасть напал атаковать атаковал; победить победил выиграть
выиграл победа выигрыш; проиграть проиграл поражение; матч игра; команда клуб сборная; игрок
спортсмен; встреча переговоры; дом здание; квартира жилье; улица проспект; пожар возгорание;
деревня село; фильм картина кино; книга роман; писатель автор; песня композиция; певец
исполнитель; актер артист; отец папа; мать мама; муж супруг; жена супруга; семья родственники;
друг приятель товарищ; уехать уехал покинуть покинул отправиться отправился; приехать приехал
прибыть прибыл; прийти пришел явиться явился; уйти ушел покинуть покинул; бежать бежал сбежать
сбежал скрыться скрылся; произойти произошел случиться случился; причина повод; проблема трудность
сложность; отказаться отказался отвергнуть отверг; согласиться согласился одобрить одобрил;
требовать требовал потребовать потребовал; просить просил попросить попросил просьба; обещать
обещал пообещать пообещал обещание; бояться боялся опасаться опасался страх; опасный угроза
опасность; известный знаменитый популярный; сломать сломал разрушить разрушил повредить повредил;
травма ранение; пострадать пострадал пострадавший ранен; спасти спас спасение; украсть украл
похитить похитил кража хищение; родиться родился рождение уроженец; жить жил проживать проживал;
писать писал написать написал; делать делал сделать сделал; называть называл назвать назвал
именовать; использовать использовал применять применял применение использование; включать включал
входить входил содержать; состоять состоял включать; стать стал становиться становился;
участвовать участвовал участие участник; руководить руководил возглавлять возглавлял возглавить
возглавил управлять; учиться учился обучаться обучался учеба обучение; назначить назначил
назначение; опубликовать опубликовал издать издал публикация издание; находиться находился
располагаться располагался расположен; примерно около приблизительно; сейчас теперь; часто
нередко; быстро стремительно; очень весьма
"""
