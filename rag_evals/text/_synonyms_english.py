"""Which English words may stand for one another? Groups between semicolons.

Written from general knowledge, as a school thesaurus has it, for words that are common in the
training texts; some groups were prompted by errors seen on development rows.
A word may be in several groups.
"""

SYNONYMS_ENGLISH = """
say state declare announce tell claim assert remark; explain describe clarify; discuss debate
talk; talk speak conversation; ask inquire question; answer reply respond response; suggest
propose recommend; advise recommend; show demonstrate display indicate; show reveal; reveal
disclose expose; find discover detect; find locate; include contain comprise; include involve;
provide supply offer give; give donate grant; get obtain receive acquire; buy purchase acquire;
sell market; use utilize utilise employ apply; help assist aid support; let allow permit enable;
make create produce; produce manufacture; build construct erect; create establish found; found
establish set; design develop devise; begin start commence; start launch; end finish conclude
complete; end terminate; stop halt cease; stop prevent; continue proceed persist; remain stay;
increase rise grow growth; increase raise boost; rise climb; decrease decline drop fall; decrease
reduce lower reduction; reduce cut; improve enhance better; damage harm hurt; hurt injure wound;
destroy ruin demolish; change alter modify; fix repair; move shift; move transfer; journey trip
travel voyage; visit tour; come arrive; leave depart; carry transport; bring deliver; send
dispatch; put place; throw toss; run operate; manage direct run; lead head; leader head chief
boss; control govern; rule govern; choose select pick; choice option; decide determine; think
believe consider; regard consider; know understand; study research; study examine investigate;
analyze analyse examine; researcher scientist; see look watch view observe; hear listen; try
attempt; want wish desire; work job employment; job position occupation; employ hire; fire
dismiss; company firm business corporation enterprise; organization organisation association;
group band team; member participant; part portion section piece; kind type sort; example instance;
way method manner; method technique approach; problem issue difficulty; difficult hard; easy
simple; important significant; important key crucial vital essential; main major principal chief
primary; big large huge great; small little tiny; many numerous; several various multiple; good
great excellent; bad poor terrible; new recent; new modern; old ancient; former previous; current
present; fast quick rapid swift; high tall; different distinct; same identical; similar alike;
special particular specific; common frequent usual; normal usual typical; rare uncommon; famous
known renowned celebrated; popular famous; beautiful attractive pretty; happy glad pleased; sad
unhappy; angry furious; afraid scared frightened; sick ill; illness sickness disease; doctor
physician medic; medicine medication drug; treat cure; treatment therapy; hospital clinic; die
perish; kill murder slay; attack assault; war conflict; fight battle combat; army military;
soldier troop; protest demonstration; police cop; police officer; arrest detain; criminal
offender; crime offense offence; prison jail; accuse charge; court tribunal; lawyer attorney; law
legislation; rule regulation; agree consent; agreement deal treaty; approve accept; reject refuse;
oppose object; avoid evade; protect defend guard; save rescue; keep retain; keep maintain; meet
encounter; meeting gathering conference; event occurrence incident; happen occur; cause lead;
effect impact influence; reason cause; goal aim purpose objective; plan scheme; program programme;
show program; film movie picture; song track; singer vocalist; actor actress; play perform; book
novel; write compose; article piece; story tale; report account; newspaper paper; picture photo
image photograph; home residence; live reside; resident inhabitant; city town; town village;
country nation state; region area zone; place location site; road street; street avenue; school
college; university college; student pupil; teacher instructor; professor teacher; child
youngster; baby infant; boy child; girl child; woman lady female; man guy male gentleman; people
person human; person individual; friend companion; wife spouse; husband spouse; parent mother
father; mother mom mum; father dad; car vehicle automobile; truck vehicle; bus vehicle; plane
aircraft airplane; ship boat vessel; bike bicycle; customer client; buyer customer; seller vendor;
shop store; thing item object; equipment gear; tool instrument; device machine; computer machine;
money cash; cost price; pay salary wage; pay payment; income revenue; profit gain; rich wealthy;
poor impoverished; cheap inexpensive; test trial; test exam; amount quantity; whole entire
complete; nearly almost; approximately about roughly around; enough sufficient; extra additional;
lose loss; game match; player athlete; competition contest; compete competition; strong powerful;
strength power; safe secure; danger risk threat; dangerous risky hazardous; possible potential;
likely probable; certain sure; true correct right; wrong incorrect; false untrue; real actual
genuine; idea concept; meaning sense; opinion view; information data; word term; call phone;
message note; language tongue; year annual; day daily; food meal; eat consume; drink consume; fire
blaze; rain rainfall; storm hurricane; cold cool; hot warm; earth world; world globe;
international global worldwide; sea ocean; river stream; mountain hill; forest wood; animal
creature; dog puppy; cat kitten; walk stroll; run jog; jump leap; sit seat; sleep nap; wait await;
like enjoy; love adore; hate dislike; fear worry; worry concern; surprise shock; strange odd
unusual; funny amusing; laugh giggle; cry weep; shout yell scream; quiet silent; bright light;
clear obvious evident; hidden secret; private personal; legal lawful; illegal unlawful; government
administration; government authority; president leader; vote ballot; elect choose; freedom
liberty; free release; publish release issue; appear seem; become turn; return back; repeat again;
connect link join; join unite; separate divide split; break shatter; close shut; open unlock;
cover wrap; fill load; empty vacant; clean wash; crop harvest; farm agriculture; farmer
agriculture; industry sector; trade commerce; tax levy; success achievement; achieve accomplish;
reach achieve; failure fail; disaster catastrophe; accident crash; escape flee; hide conceal;
search seek; follow pursue; remove delete; remove eliminate; replace substitute; order command;
push press; pull drag; encourage urge; advertisement ad commercial; admit confess; admit
acknowledge; deny refute; confirm verify; check inspect; calculate compute; measure gauge; compare
contrast; fit suit; portray depict; represent depict; express voice; mention refer cite; focus
concentrate; celebrate commemorate; prize award; skill ability talent; ability capability;
efficient effective; speed velocity; size dimension; color colour; substance material; rock stone;
soil ground; land territory; border boundary; edge border; center centre middle; top peak; near
close; far distant; often frequently; always constantly; sometimes occasionally; now currently;
today currently; soon shortly; later afterward; finally eventually; suddenly abruptly; slowly
gradually; completely fully entirely totally; mostly mainly largely; only solely; also
additionally; birth born; marry wed; bury grave; head chairman; chairman chairwoman chair;
minister secretary; king monarch; queen monarch; capital city; church cathedral; holy sacred;
belief faith; church religious; planet world; space cosmos; star sun; century era; period era age;
moment instant; career profession; education schooling; graduate degree; pain ache; sick patient;
blood bleed; heart cardiac; brain mental; electricity electric electrical; energy power; gas
vapor; liquid fluid; heat temperature; oil petroleum; light illumination; sound noise; error
mistake; fault blame; contain hold; last final; initial first; second next; own possess; owner
proprietor; belong own; near beside; under beneath below; over above; across through; inside
within; outside exterior; disrupt disturb interrupt disruption interfere; delve explore examine;
outline describe sketch; recount narrate relate; ponder contemplate consider; array range variety
assortment; suite set collection; bundle package; extend offer; present introduce; unveil reveal
announce; divulge disclose reveal; depict show; illustrate demonstrate show; highlight emphasize
underscore stress; underline underscore; assess evaluate appraise rate; evaluate judge; estimate
assess; gauge estimate; forecast predict prediction project; predict anticipate foresee; expect
anticipate; hope aspire; aspire aim; intend plan mean; strive try; endeavor attempt effort;
struggle strive; undertake perform; conduct perform carry; execute implement perform; implement
introduce apply; adopt embrace; accept embrace; welcome greet; greet salute; honor honour respect;
respect esteem admire; admire praise; praise commend laud acclaim; criticize condemn denounce
blame; condemn decry; rebuke scold; warn caution alert; threaten menace; bully harass intimidate;
scare frighten terrify; calm soothe relax; relieve ease alleviate; ease facilitate; facilitate
enable help; hinder impede hamper obstruct; block obstruct prevent; restrict limit constrain curb;
limit cap; curtail reduce; diminish lessen decrease reduce; shrink contract; dwindle decline;
deteriorate worsen; worsen aggravate exacerbate; intensify strengthen; strengthen reinforce
bolster; fortify strengthen; boost bolster raise; amplify increase magnify; expand enlarge extend
broaden; widen broaden; lengthen extend prolong; shorten abbreviate; accelerate hasten quicken;
slow delay; delay postpone defer; cancel scrap abandon; abandon desert forsake leave; quit resign
leave; resign retire; retire pension; recruit hire enlist; enlist enroll join; enroll register;
register record; record document log; track monitor follow; monitor oversee supervise; supervise
manage; administer manage; handle manage deal; cope manage; tackle address; address speech; speech
talk lecture; lecture teach; teach instruct educate; train coach; coach trainer; mentor guide
adviser; guide steer direct; lead guide; escort accompany; accompany attend; attend visit; host
hold organize; organize organise arrange; arrange set; prepare ready; equip furnish supply;
furnish provide; deliver supply provide; grant award give; bestow give; allocate assign
distribute; distribute hand share; share divide; split part; detach separate; attach fasten
connect; bind tie; tie link bond; bond connection; bridge connect; merge fuse unite; blend mix
combine mixture; mingle mix; gather assemble; assemble build; compile collect gather; accumulate
amass gather; stockpile store; store keep; preserve conserve maintain; conserve save; maintain
sustain uphold; uphold support; endorse back support approve; advocate promote support; champion
advocate; supporter backer advocate fan; follower fan; enthusiast fan lover; opponent rival
adversary; rival competitor; enemy foe; ally partner; partner companion associate; colleague
coworker associate peer; boss supervisor; assistant aide helper; aide adviser; adviser advisor
consultant counselor; expert specialist professional; beginner novice; veteran experienced;
skilled talented able; gifted talented; clever smart intelligent bright; wise sensible; foolish
stupid silly; crazy mad insane; odd peculiar; weird bizarre strange; mysterious enigmatic; conceal
mask; disguise mask; pretend feign; fake false counterfeit; forge fake; deceive mislead trick
fool; cheat swindle defraud; fraud scam deception; scam trick; rob steal; theft robbery burglary;
thief robber burglar; loot plunder; smuggle traffic; kidnap abduct; abduct seize; seize capture
grab; capture catch; grab grasp; grip hold grasp; cling stick; stick adhere; adhere follow comply;
comply obey follow; violate breach break; infringe violate; damage impair; impair weaken; weaken
undermine; undermine damage; spoil ruin; wreck destroy; devastate destroy ravage; obliterate
destroy; eradicate eliminate; abolish scrap eliminate; erase delete; cancel revoke; revoke
withdraw; withdraw retreat pull; retreat withdrawal; surrender yield; yield produce; generate
produce create; spawn create; form create shape; mold shape; establish form; inaugurate open
launch; initiate begin launch; trigger cause spark provoke; spark ignite; ignite light; induce
cause; prompt cause; evoke elicit; stem arise originate; originate derive begin; derive obtain;
emerge arise appear; surface emerge; vanish disappear fade; deceased dead; demise death; fatal
deadly lethal; casualty victim; victim sufferer; survive outlive; injury wound; bruise injury;
pain suffering; suffer endure; endure withstand tolerate; tolerate bear accept; resist oppose
withstand; rebel revolt; revolt uprising rebellion; riot unrest; unrest turmoil; chaos turmoil
disorder; mess disorder; crisis emergency; urgent pressing; immediate instant prompt; rapid speedy
fast; speedy quick; steady constant stable; constant continuous continual; permanent lasting
enduring; temporary brief interim; brief short; lengthy long; vast huge enormous immense; massive
huge enormous gigantic; giant huge gigantic; tremendous huge; sizable large substantial
considerable; substantial significant considerable; minor slight small; minimal small; tiny
minute; compact small; spacious roomy large; broad wide; narrow thin; slim thin slender; fat
overweight obese; heavy weighty; dense thick; deep depth; wide width; strong strength; high
height; hot heat; cold chilly; freezing icy cold; wet damp moist; moisture humidity damp; dry
arid; arid desert; sunny bright; cloudy overcast; dark dim; shadow shade; shine glow; glow light;
sparkle glitter; gleam shine; colorful vivid; vivid bright; pale light; transparent clear; sharp
keen; blunt dull; boring dull tedious; exciting thrilling; interesting intriguing fascinating;
fascinating captivating; engaging captivating; attract draw appeal; charm appeal; charming
delightful; delightful pleasant enjoyable; pleasant nice agreeable; kind generous; gentle mild
soft; mild moderate; severe serious harsh; serious grave severe; strict stringent rigid; rigid
stiff; flexible adaptable; adapt adjust; adjust modify alter; tweak adjust; customize tailor
personalize; tailor adapt; convert transform; transform change; shift change; evolve develop;
evolution development; progress advance advancement; breakthrough advance; innovation invention;
invent devise create; inventor creator; creator maker; founder creator; originator creator; maker
manufacturer producer; manufacture make; assemble construct; craft make; artisan craftsman; artist
painter; painting picture canvas; sculpture statue; statue monument; monument memorial; memorial
tribute; tribute homage; ceremony ritual; ritual rite; festival celebration; celebration party;
party gathering; banquet feast; feast meal; dinner supper meal; lunch meal; breakfast meal; snack
food; cuisine food cooking; cook chef; dish meal; beverage drink; alcohol liquor; beer ale;
restaurant cafe eatery; hotel inn; inn lodge; lodging accommodation; accommodation housing;
apartment flat; mansion house; cottage house; hut cabin; castle fortress; fortress fort
stronghold; palace residence; dwelling house home; inhabit live occupy; tenant renter; landlord
owner; rent lease; lease hire; mortgage loan; loan credit; debt liability; borrow loan; lend loan;
bank lender; invest finance fund; fund finance money; grant subsidy; donation gift contribution;
charity charitable; nonprofit charity; expense cost expenditure; spend expenditure; charge fee
cost; fare fee; fine penalty; penalty punishment; punish penalize; sentence punishment; convict
sentence; guilty convicted; innocent guiltless; trial case; lawsuit suit case litigation; sue
lawsuit; defendant accused; judge justice; verdict ruling decision; ruling decision judgment;
decree order; mandate require order; obligate require; compel force oblige; mandatory compulsory
required obligatory; optional voluntary; voluntary willing; willing ready; reluctant unwilling
hesitant; hesitate pause; pause break; interval gap; gap space; vacancy opening; hole gap opening;
crack split; fracture break; broken damaged; intact undamaged; flaw defect fault; error bug;
glitch problem; malfunction fail; breakdown collapse failure; collapse fall; topple overthrow;
overthrow oust; oust remove expel; expel eject remove; exile banish; banish expel; deport expel;
migrate move; immigrant migrant; refugee migrant; settler colonist; settle resolve; resolve solve;
solve resolution solution; solution answer; remedy cure; cure heal; heal recover; recover
recovery; rehabilitate restore; restore repair renew; renew renovate; renovate refurbish; upgrade
improve; update revise; revise amend alter; amend modify; amendment change; reform change;
overhaul revamp; replace swap; swap exchange; exchange trade; barter trade; deal transaction;
transaction purchase; bargain deal; discount reduction; reduction cut; bonus reward; reward prize;
medal award; trophy prize; champion winner victor; triumph victory win; success triumph; prevail
win; defeat conquer beat; conquer vanquish; invade attack occupy; invasion attack; raid attack;
ambush attack; bombing attack bombardment; bomb explosive; explosion blast; explode blast
detonate; shoot fire; gun weapon firearm; weapon arm; sword blade; knife blade; shield protect;
safeguard protect; security safety; refuge shelter; shelter haven; trap catch; hunt chase; chase
pursue; pursuit chase; quest search; search look hunt; probe investigation inquiry; survey poll;
poll vote; questionnaire survey; experiment test; trial experiment; hypothesis theory; evidence
proof; prove demonstrate show; confirm validate; validate verify; certify verify; guarantee ensure
assure; assure promise; pledge promise vow; vow swear; contract agreement; pact treaty agreement;
accord agreement; alliance coalition; coalition union; union federation; federation league; club
society; society community; community neighborhood; neighborhood district area; urban city; rural
country; countryside country; landscape scenery; view sight; sight vision; optical visual; visible
apparent; apparent evident; plain clear; ambiguous unclear vague; uncertain unsure; doubt
uncertainty; sceptical skeptical doubtful; suspicious doubtful; suspicion doubt; trust confidence;
confident sure; faith trust; loyal faithful; loyalty allegiance; betray deceive; honest truthful
sincere; sincere genuine; genuine authentic; authentic original; copy duplicate replicate;
replicate reproduce; imitate copy mimic; resemble similar; analogous similar comparable;
equivalent equal; equal same; differ vary; vary change; variation difference; distinction
difference; diverse varied various; diversity variety; component ingredient part; element
component; segment section part; fragment piece; chunk piece; slice piece; portion share; share
part; proportion percentage ratio; fraction part; majority most; average mean; maximum peak;
minimum least; total sum; sum amount; quantity number; figure number; digit number; statistic
data; dataset data; file document; document paper record; chapter section; volume book; magazine
journal; journalist reporter; reporter correspondent; columnist writer; novelist author writer;
poet writer; poem verse; poetry verse; tale legend; legend myth; folklore legend; protagonist
hero; character role; role part; cast actor; star actor; celebrity star; fame renown; prominent
famous notable; notable noteworthy; eminent prominent; obscure unknown; anonymous unnamed; title
name; label tag; brand mark; logo symbol; symbol sign emblem; sign signal; indicate signify;
signify mean; denote mean; imply suggest; hint suggest; suggestion proposal; proposal plan;
blueprint plan; strategy plan; tactic strategy; program initiative; mission task; task job
assignment; duty responsibility obligation; burden load; cargo freight; shipment delivery; mail
post; postal mail; package parcel; box container; bag sack; cup mug; plate dish; pot pan; chair
seat; couch sofa; rug carpet; lamp light; door gate; gate entrance; entrance entry; corridor
hallway; floor ground; fence barrier; barrier obstacle; obstacle hurdle; challenge difficulty;
complex complicated intricate; intricate detailed; detailed thorough; thorough comprehensive;
comprehensive complete; exhaustive thorough; concise brief; summary overview; introduction
preface; conclusion end; finale end; climax peak; summit peak; cave cavern; island isle; coast
shore; shore beach; bay gulf; harbor port harbour; sailor seaman; navy naval; marine sea; aquatic
water; insect bug; snake serpent; lizard reptile; cow cattle; cattle livestock; sheep lamb; pig
swine hog; chicken hen poultry; rabbit hare; mouse rodent; rat rodent; plant vegetation; leaf
foliage; flower blossom bloom; vegetable veggie; grain cereal; corn maize; lawn grass; field
meadow; ranch farm; irrigation water; flood deluge; earthquake quake tremor; hurricane cyclone
typhoon; tornado twister; climate weather; autumn fall; dawn sunrise; dusk sunset; evening night;
noon midday; epoch era; prehistoric ancient; contemporary modern; latest newest recent; upcoming
forthcoming; prior previous; preceding previous; subsequent following; following next;
simultaneous concurrent; regular periodic; everyday daily; seldom rarely; rarely hardly; scarce
rare; scarcity shortage; shortage lack; lack absence; deficiency lack; surplus excess; abundant
plentiful; plentiful ample; adequate sufficient; inadequate insufficient; poverty poor; wealth
rich; affluent wealthy; prosperous wealthy; prosperity wealth; fortune wealth; gem jewel; jewel
jewelry; concrete cement; timber wood lumber; cloth fabric textile; clothing clothes apparel
garment; dress gown; trousers pants; shoe footwear; hat cap; coat jacket; fashion style; style
manner; elegant graceful; grace elegance; ugly unattractive; handsome attractive; sexual sex;
gender sex; adult grownup; teenager adolescent teen; youth youngster; elderly senior; ancestor
forebear; descendant offspring; offspring child; brother sibling; sister sibling; cousin relative;
relative kin; divorce separate; pregnant expecting; surgery operation; symptom sign; diagnose
identify; disorder illness condition; ailment illness; infect contaminate; contaminate pollute;
bacterium germ; epidemic outbreak; vaccine vaccination; vaccination immunization; drug medication
pharmaceutical; pill tablet; dose dosage; painkiller analgesic; mental psychological; emotion
feeling; feeling sentiment; sorrow sadness grief; joy happiness delight; pleasure enjoyment; anger
rage fury; hatred hate; envy jealousy; pride proud; shame embarrassment; embarrassed ashamed;
regret remorse; sympathy compassion; forgive pardon; apologize sorry apology; thank grateful;
grateful thankful; gratitude thanks; imagine envision; memory recollection; remember recall;
notice observe; perceive see; sense feel; recognize identify; awareness consciousness;
intelligence intellect; academic scholarly; scholarship grant; classroom class; class course; exam
examination; grade mark; score grade; diploma degree; doctorate phd; thesis dissertation;
chemistry chemical; mathematics math maths; spacecraft spaceship; gravity gravitational; solar
sun; lunar moon; nuclear atomic; molecule molecular; cell cellular; gene genetic; genetic
hereditary; bone skeleton; face facial; mouth oral; tooth dental; finger digit; stomach abdomen
belly; lung pulmonary; liver hepatic; kidney renal; breathe respiration; respiratory breathing;
sleep slumber; asleep sleeping; tired exhausted weary; exercise workout; sport athletic; athlete
sportsman; soccer football; boxer fighter; cyclist biker; passenger traveler; traveler traveller;
tourist visitor; vacation holiday; trip excursion; pilot aviator; airline carrier; helicopter
chopper; railway railroad; subway metro; taxi cab; motorcycle motorbike; engine motor; fuel gas;
gasoline petrol; highway motorway; route path; path trail; internet web online; website site;
email mail; software program app application; computer pc; phone smartphone mobile; cellphone
mobile; screen display; video footage; broadcast air; audience viewer spectator; consumer
customer; shopper customer; retailer seller; merchant trader; trader dealer; vendor supplier;
supplier provider; factory plant; laboratory lab; headquarters base; startup company; industry
industrial; commercial business; market marketplace; economy economic; economic financial;
financial monetary; currency money; recession downturn; unemployment jobless; strike walkout; earn
make; earnings income; tariff duty; goods merchandise product; inventory stock; stock share;
shareholder investor; asset property; property estate; heir successor; aristocrat noble; peasant
farmer; citizen national; native indigenous; indigenous aboriginal; tribe clan; ethnic racial;
racism discrimination; discrimination bias; prejudice bias; democracy democratic; dictator tyrant;
regime government; parliament legislature; representative delegate; ambassador envoy diplomat;
election vote; candidate nominee; nominate propose; statute law; ban prohibit outlaw forbid;
permit license; permission authorization; authorize allow; approve authorize; sanction penalty;
demonstrator protester; activist campaigner; terrorist militant; rebel insurgent; hostage captive;
captive prisoner; prisoner inmate; detain hold; custody detention; arrest apprehend; investigator
detective; murder homicide; murderer killer; assassinate kill; execute kill; abuse mistreat; time
period; moment time; process procedure; system network; feature characteristic attribute; feature
include; service assistance; family household relatives; point spot; level degree stage; point
argument; read perusal study; history past; learn discover; learn study; serve function; office
bureau; office workplace; drive motivate; drive motor; list enumerate; list catalog; content
material; platform system; series sequence; series show; body organization; action activity deed;
activity pursuit; health wellbeing; technology tech; available accessible; accessible reachable;
season period; future upcoming; young youthful; single individual; single sole; local regional;
past former; pass go; access entry; director head manager; manager supervisor executive; executive
boss officer; edit revise; fact truth; value worth; performance show; performance execution;
source origin; origin beginning root; together jointly; jointly collectively; matter topic; matter
substance; receive accept; benefit advantage gain; benefit help; side aspect; aspect facet
feature; practice custom; practice exercise; model version; version edition; flight plane;
structure framework; framework system; structure building; review assess evaluation; review
critique; quality standard; stage phase; phase period; step stage; step move; stand position;
opportunity chance; chance likelihood; likelihood probability odds; affect influence impact; front
face; policy rule guideline; guideline rule instruction; album record; relationship connection
relation link; enter join; communication contact; communicate convey express; convey transmit;
transmit send broadcast; mind brain; activity event; existing current; participate join;
participation involvement; participate compete; analysis examination; contact reach; reaction
response; react respond; standard norm; resource asset; user client; culture tradition custom;
tradition custom heritage; heritage legacy; definitely certainly; unique distinctive sole;
environment surroundings setting; setting location; environmental ecological; dedicated devoted
committed; situation circumstance; circumstance condition; function work operate; function role
purpose; digital electronic; board committee; committee panel; commission committee; topic subject
theme; perfect ideal flawless; agency bureau department; department division; division section;
agency organization; factor element cause; necessary essential required needed; need necessity;
forward ahead; critical crucial; critical essential; depend rely hinge; reliance dependence;
reliable dependable trustworthy; throughout during; demand request; request ask appeal; demand
need; efficiency productivity; productivity output; output production; production manufacturing;
staff personnel employees workers; couple pair two; reflect mirror; reflect indicate; argument
debate; dispute argument conflict; dispute contest; active energetic; balance equilibrium; speaker
presenter; presenter host; chance risk; collaboration cooperation partnership; behavior conduct
behaviour; behavior action; nature essence; interaction contact; interact engage; engage involve;
impressive remarkable; remarkable extraordinary notable; extraordinary exceptional; exceptional
outstanding; outstanding excellent; excellent superb; superb wonderful; wonderful amazing
fantastic; amazing astonishing incredible; incredible unbelievable; population inhabitants people;
favorite preferred; prefer favor; preference liking; instead alternatively; alternative option
substitute; target goal; target aim; attention focus; consist comprise; traditional conventional;
conventional customary; debut premiere; physical bodily; chain series; letter note; pressure
stress; stress strain tension; rank rate; rank position; appropriate suitable proper; proper
correct; suitable fitting; demo demonstration; icon symbol; straight direct; schedule timetable
plan; genre style; accurate precise exact; inspire motivate; motivation incentive; context
setting; cross traverse; great greater; park garden; exhibition exhibit show display; act behave;
text passage writing; insight understanding; understanding comprehension; comprehend understand
grasp; reference mention; appoint name designate; designate assign; solid firm; double twice;
reality truth; flow stream; anti against; despite although; facility building; except excluding;
opposite contrary reverse; extensive broad widespread; widespread common extensive; prevalent
widespread common; independent autonomous; wear dress; basic fundamental elementary; fundamental
essential; stuff thing; spot place; spot notice; subscription membership; fair just; fair
exhibition; realize understand; realise realize; venue location; sample specimen; specimen
example; root cause; root source; transition change; assume suppose presume; suppose guess; guess
estimate; species type; overall total; session meeting; importance significance; significant
meaningful; exclusive sole; deploy use; profile description; description account depiction; invite
ask; appearance look; appear look; violence force; consult ask; consultation advice; install set;
spread distribute expand; print publish; scale size extent; extent degree scope; scope range; kick
hit; hit strike; strike attack; entertainment amusement; capacity ability; control regulate;
regulate govern; basis foundation ground; foundation base; base found; principle rule; core
center; core essential; crowd audience; inform notify; notify alert; institution organization;
drama play; cancer tumor; navigate steer; wonder marvel; trouble problem difficulty; count number
tally; negative adverse; adverse harmful; harmful damaging; internal inner; inner inside; distance
length; maybe perhaps possibly; budget funds; pattern trend; trend tendency; tendency inclination;
atmosphere air; atmosphere mood; barely hardly; relevant pertinent related; associate link relate;
optimize improve; chart graph; concert gig performance; musical music; musician performer;
performer entertainer; childhood youth; leadership guidance; guidance direction; advantage edge;
critic reviewer; wind breeze; foreign overseas; abroad overseas; sponsor fund; perspective
viewpoint view; viewpoint opinion; outlook view; precision accuracy; easier simpler; elevated
raised; sensitive delicate; delicate fragile; fragile weak; appreciate value; defense protection;
defence defense; gallery museum; status position; status standing; reserve keep; usage use; quote
cite; subscribe join; streamline simplify; characteristic trait property; trait quality; property
feature; category class type; categorize classify; classify sort group; resistance opposition;
tend incline; truly really; prosecutor attorney; incorporate include integrate; integrate combine
merge; upper top; agree accept; specifically particularly especially; healthy fit; combination
mixture; fellow colleague; assistance help; tournament competition; distinguished eminent;
absolute total complete; guest visitor; useful helpful beneficial; beneficial advantageous;
domestic national; motion movement; theater theatre; approval consent; consent permission;
unlikely improbable; specialized specialised; specialize focus; qualified eligible; eligible
entitled; portfolio collection; feedback response comment; comment remark; composition makeup;
valuable precious useful; convince persuade; influence persuade; compound chemical; controversy
dispute; controversial disputed; documentary film; occasion event; affair matter; external outer;
branch division; faster quicker; intense strong fierce; attribute ascribe credit; sustainable
lasting; formal official; official authorized; bottom base; manipulate control; consequence result
outcome; submit file; submit present; flag banner; capable able; labor work labour; careful
cautious; caution care; oversight supervision; lawmaker legislator; diet food; compare comparison;
foster encourage promote; cultivate grow; nurture foster; disband dissolve; ignore disregard
neglect; aggressive hostile; acquisition purchase; unable incapable; familiar known; ongoing
continuing; nutritional nutrient; pay compensate; compensation payment; reimbursement refund;
inquiry question; query question; detail particular; detail specify; specify state; plus
additionally; instruct order; instruction direction; direction way; advise counsel; option
possibility; possibility prospect; prospective potential; potential capability; feasible possible;
viable feasible; practical feasible; concept notion; notion idea; thought idea; belief conviction;
conclude deduce; deduce infer; assumption supposition; claim allegation; allege claim; accusation
charge; complain complaint; complaint grievance; object protest; reject dismiss; refusal
rejection; admit concede; recognise recognize acknowledge; affirm confirm; emphasise emphasize;
interpret explain; interpretation explanation; define definition; characterize describe; term
call; dub call name; nickname name; titled called; entitled titled; known called; consider deem;
regard see; treat handle; treatment care; care concern; concern interest; curiosity interest;
eager keen; enthusiastic eager; passion enthusiasm; frustrated annoyed; annoy irritate; satisfied
pleased; satisfy meet; fulfil fulfill satisfy; fulfill achieve; accomplish complete; finalize
complete; incomplete unfinished; section area; territory region; province region; municipality
city; municipal city; border frontier; neighbor neighbour; neighboring adjacent; adjacent nearby;
nearby close; surround encircle; enclose surround; beyond past; ascend climb; descend drop;
descent fall; plunge plummet drop; plummet fall; soar rise; surge increase; jump rise; slump
decline; recover rebound; fluctuate vary; vibrate shake; shake tremble; rotate spin turn; slide
slip; emit release; discharge release; release launch; purify clean; heat warm; melt thaw;
evaporate vaporize; solidify harden; compress squeeze; stretch extend; bend curve; tear rip; cut
slice; chop cut; grind crush; smash break; dig excavate; plant sow; pick collect; harvest gather;
feed nourish; grow develop; mature ripe; rot decay; decay decompose; reproduce breed; breeding
reproduction; endangered threatened; habitat home; wildlife animals; predator hunter; prey victim;
organism creature; microbe microorganism; microorganism germ; toxic poisonous; poison toxin; drug
narcotic; addiction dependence; smoke cigarette; tobacco cigarette; drunk intoxicated; hunger
starvation; fatigue tiredness exhaustion; vulnerable weak; vulnerability weakness; reveal uncover;
uncover discover; explore investigate; exploration expedition; expedition journey; bid offer;
tender offer; contestant competitor; defeat loss; draw tie; referee umpire; stadium arena; arena
venue; squad team; comeback return
"""
