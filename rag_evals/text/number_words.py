"""How are numbers, months and units written in words? One table for all who read numbers."""

from collections.abc import Iterator

_UNDER_TWENTY = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
ENGLISH_UNDER_TWENTY = {name: value for value, name in enumerate(_UNDER_TWENTY.split())}
ENGLISH_TENS = {name: 10 * value for value, name in enumerate(_TENS.split(), start=2)}
ENGLISH_SCALES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_RUSSIAN = """
0: ноль
1: один одна одно одного одной
2: два две двух двум двумя двое
3: три трех трем тремя трое троих
4: четыре четырех четверо четверых
5: пять пяти пятью пятеро
6: шесть шести
7: семь семи
8: восемь восьми
9: девять девяти
10: десять десяти
11: одиннадцать одиннадцати
12: двенадцать двенадцати
13: тринадцать
14: четырнадцать
15: пятнадцать пятнадцати
16: шестнадцать
17: семнадцать
18: восемнадцать
19: девятнадцать
20: двадцать двадцати
30: тридцать тридцати
40: сорок сорока
50: пятьдесят пятидесяти
60: шестьдесят
70: семьдесят
80: восемьдесят
90: девяносто
100: сто ста
200: двести
300: триста
400: четыреста
500: пятьсот
600: шестьсот
700: семьсот
800: восемьсот
900: девятьсот
"""


def _forms(rows: str) -> Iterator[tuple[str, str]]:
    """Yield each form of a table, with what its row stands for."""
    for row in rows.strip().splitlines():
        meaning, _, forms = row.partition(":")
        yield from ((form, meaning) for form in forms.split())


TRAINED_RUSSIAN = {form: int(value) for form, value in _forms(_RUSSIAN)}
"""What the embedded verifier reads; it was trained without "тринадцати" and the like."""

RUSSIAN_SCALES = {
    form: value
    for value, forms in {
        10**3: "тысяча тысячи тысяч тыс",
        10**6: "миллион миллиона миллионов млн",
        10**9: "миллиард миллиарда миллиардов млрд",
        10**12: "триллион триллиона триллионов трлн",
    }.items()
    for form in forms.split()
}

# English name, short forms, Russian forms.
_MONTHS = (
    "January Jan января январь январе",
    "February Feb февраля февраль феврале",
    "March Mar марта март марте",
    "April Apr апреля апрель апреле",
    "May мая май мае",
    "June Jun июня июнь июне",
    "July Jul июля июль июле",
    "August Aug августа август августе",
    "September Sept Sep сентября сентябрь сентябре",
    "October Oct октября октябрь октябре",
    "November Nov ноября ноябрь ноябре",
    "December Dec декабря декабрь декабре",
)
MONTH_NAMES = tuple(row.split()[0] for row in _MONTHS)
"""The English names, in order."""

MONTHS_OF_WORDS = {
    form: number
    for number, row in enumerate(_MONTHS, start=1)
    for form in row.lower().split()
    # "Mar" is a verb as well.
    if form != "mar"
}
"""Numbers of months, by every form in lower case."""

_UNITS = """
%: % percent pct процент процента процентов проценты проценту
$: $ dollars доллар доллара долларов dollar usd
€: € euros евро euro eur
£: £ pound pounds gbp фунт фунтов
₽: ₽ rubles roubles руб рубль рубля рублей ruble rouble
km: km kilometres kilometers км километр километра километров kilometre kilometer
m: метр метра метров metre metres meter meters
cm: cm centimetres centimeters см сантиметр сантиметров centimetre centimeter
mm: mm millimetres millimeters мм миллиметр миллиметров millimetre millimeter
mile: mile miles mi миля мили миль
ft: foot feet ft фут футов
kg: kg kilograms кг килограмм килограмма килограммов kilogram kilo kilos
g: gram grams грамм грамма граммов
mg: mg milligrams мг миллиграмм миллиграммов milligram
t: ton tons tonne tonnes тонна тонны тонн
lb: lb lbs
l: litres liters litre liter литр литра литров
gal: gallon gallons галлон галлона галлонов
oz: ounce ounces oz унция унции унций
inch: inch inches дюйм дюйма дюймов
yd: yard yards ярд ярда ярдов
ha: hectare hectares гектар гектара гектаров
acre: acre acres акр акра акров
h: hour hours hr hrs час часа часов
min: minute minutes min mins минута минуты минут
s: seconds sec секунда секунды секунд
day: day days день дня дней
week: week weeks неделя недели недель
month: month months месяц месяца месяцев
year: year years год года лет году
°: ° degree degrees градус градуса градусов
century: century centuries век века веков
"""


UNITS = dict(_forms(_UNITS))
"""Units by every form."""
