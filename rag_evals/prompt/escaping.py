"""How is prompt injection made harder? Data cannot contain our tags, in any disguise.

A grader's request holds data only between tags that its template writes. Whatever in the data would
read as one of these tags loses its `<`; nothing else is changed. The words around the data, which
say that it is data, are in `prompts/chunk_template.jinja`. This lowers the risk, no more.
"""

import re
import unicodedata
from functools import cache

ESCAPED = "&lt;"
"""What stands in data where a forged tag began."""

# The sign itself, also crossed out, its full-width and small forms, and brackets that look so.
_OPENING = re.compile("[<≮＜﹤‹\u2329〈⟨❬❮❰⦑⧼˂ᐸᚲ≺⋖𝈶]")
# What may stand between the sign and the name, and does not hide it: slashes, strokes, marks.
_SLASHES = "/⁄∕⧸╱⟋丿ノ〳\\∖⧵⧹⟍|!?"
# Letters that look like the closing sign; any other sign ends a name anyway.
_CLOSING = str.maketrans("ᐳ𖼿", ">>")
# Letters and signs that show nothing, and are no spaces to Unicode.
_EMPTY = "\u115f\u1160\u2800\ufffc\U0001d159"
# Which letters look like Latin ones, from Unicode's table of confusables (UTS 39). Letters that
# Unicode's own normal form (NFKD) makes Latin, such as full-width ones, are not in it.
_LATIN = {
    "a": "ɑαаᎪᗅᴀ⍺ꓮ𐊠𖽀",
    "b": "ƀƄʙΒβЬвᏏᏴᑲᖯᗷꓐꞴ𐊂𐊡𐌁",
    "c": "ȼϲϹсᏟᴄⲤⲥꓚꞓꮯ𐊢𐌂𐐕𐐽𐔜𑣩𑣲🝌",
    "d": "đԁᎠᏧᑯᗞᗪᴅꓒꓓ",
    "e": "ɇεеҽᎬᴇ℮⋿ⴹꓰꬲ𐊆𑢦𑢮",
    "f": "ϜքᖴẝꓝꜰꞘꞙꬵ𐊇𐊥𐔥𑢢𑣂𝈓",
    "g": "ƍɡɢԌցᏀᏳᶃꓖ",
    "h": "ħʜΗнһհᎻᏂᕼⲎꓧ𐋏",
    "i": ("ıłƖǀɨɩɪʟΙιІіӀӏ۱ᎥᏞᒪᛁ∣⍳⏽ⲒⳐⵏꓡꓲꙇꭵ𐊊𐌉𐌠𐐛𐔦𑢣𑢲𑣃𖼖𖼨𝈪"),
    "j": "ͿϳјᎫᒍᴊꓙꞲ",
    "k": "κкᏦᛕᴋⲔꓗꝁ𐔘",
    "m": "ΜϺмᎷᗰᛖᴍⲘꓟ𐊰𐌑",
    "n": "ɴΝηпոռⲚꓠ𐔓",
    "o": ("øοσоՕօ۵०০੦૦ଠ୦௦౦೦ഠ൦๐໐ဝ၀ჿዐᴏᴑⲞⲟⵔ〇ꓳꬽ𐊒𐊫𐐄𐐬𐓂𐓪𐔖𑓐𑢵𑣈𑣗𑣠"),
    "p": "ρрᏢᑭᴘ⍴Ⲣⲣꓑ𐊕",
    "q": "ԛգզⵕ",
    "r": "ƦʀгᎡᏒᖇᴦⲅꓣꭇꭈꮁ𐒴𖼵𝈖",
    "s": "ƽѕՏᏕᏚꓢꜱꮪ𐊖𐐠𐑈𑣁𖼺",
    "t": "ŧτтᎢ⊤⟙Ⲧꓔ𐊗𐊱𐌕𑢼𖼊🝨",
    "u": "ʉʋυцՍսሀᑌᴜ∪⋃ꓴꞟꭎꭒ𐓎𐓶𑢸𑣘𖽂",
    "v": "νѴѵ۷Ꮩᐯᴠ∨⋁ⴸꓦꛟꮩ𐔝𑜆𑢠𑣀𖼈𝈍",
    "w": "ɯωшѡԝաᎳᏔᴡꓪꮃ𑜊𑜎𑜏𑣦𑣯",
    "x": "×χхᕁᕽ᙭ᚷ╳⤫⤬⨯ⲬⵝꓫꞳ𐊐𐊴𐌗𐌢𐔧𑣬",
    "y": "ɣʏΥγуҮүყᎩᎽᶌỿⲨꓬꭚ𐊲𑢤𑣜𖽃",
    "z": "ƶΖᏃᴢꓜꮓ𐋵𑢩𑣄𑣥",
}
# Letters on flags, and in black circles and squares.
_ALPHABETS = (0x1F1E6, 0x1F150, 0x1F170)
_LETTERS = 26
_LOOK_ALIKES = str.maketrans(
    {letter: latin for latin, letters in _LATIN.items() for letter in letters}
    | {
        chr(first + place): chr(ord("a") + place)
        for first in _ALPHABETS
        for place in range(_LETTERS)
    }
)
# A capital i, a small L and a one are the same stroke; so are an O and a zero.
_STROKES = str.maketrans({"l": "i", "1": "i", "0": "o"})


def escape_tags(text: str, tags: frozenset[str]) -> str:
    """Replace the opening sign of each text that reads as one of the tags; the rest stays.

    Case, white space, invisible characters, full-width forms and look-alike letters do not hide a
    tag: "< / ⓒHUNK > <chunky>" → "&lt; / ⓒHUNK > <chunky>" for the tag `chunk`.

    Args:
        text: Data of a sample.
        tags: Names of tags; without any, the text stays as it is.
    """
    # Most English texts are ASCII without the sign: no need to look for its other forms.
    if not tags or ("<" not in text and text.isascii()):
        return text
    names = _plain_names(tags)
    return _OPENING.sub(
        lambda found: ESCAPED if _is_tag(text, found.end(), names) else found.group(), text
    )


@cache
def _plain_names(tags: frozenset[str]) -> frozenset[str]:
    return frozenset(_plain(tag) for tag in tags)


def _is_tag(text: str, place: int, names: frozenset[str]) -> bool:
    """Say whether one of the names stands at `place`, whatever hides it."""
    longest = max(map(len, names))
    name = ""
    for position in range(place, len(text)):
        letters = _plain(text[position])
        if not letters or (letters in _SLASHES and not name):
            continue
        if letters[0] in _SLASHES or not _belongs_to_name(letters):
            return False
        name += letters
        if len(name) > longest:
            return False
        if name in names and not _goes_on(text, position + 1):
            return True
    return False


def _goes_on(text: str, place: int) -> bool:
    """Say whether the word at `place` is longer than the name: `<answers>` is not `<answer>`."""
    for position in range(place, len(text)):
        if text[position].isspace():
            return False
        letters = _plain(text[position])
        if letters:
            return _belongs_to_name(letters)
    return False


def _belongs_to_name(letters: str) -> bool:
    return re.fullmatch(r"[\w:-]+", letters) is not None


@cache
def _plain_character(character: str) -> str:
    """Return what a reader sees: nothing for spaces, marks and invisible characters.

    "Ｃ", "ⓒ", "⒞" and the Cyrillic "с" → "c".
    """
    # Before case is folded: a Greek capital Nu looks like an N, a small one like a v.
    seen = unicodedata.normalize("NFKD", character.translate(_LOOK_ALIKES)).translate(_LOOK_ALIKES)
    small = seen.casefold().translate(_LOOK_ALIKES).translate(_STROKES).translate(_CLOSING)
    # A letter in brackets of its own, one character, becomes three.
    bare = small[1:-1] if small[:1] + small[-1:] == "()" else small
    return "".join(c for c in bare if not _is_invisible(c))


def _is_invisible(character: str) -> bool:
    hidden = character.isspace() or character in _EMPTY
    return hidden or unicodedata.category(character)[:1] in ("C", "M")


def _plain(text: str) -> str:
    return "".join(map(_plain_character, text))
