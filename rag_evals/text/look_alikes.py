"""Which letters look like Latin ones? From Unicode's table of confusables (UTS 39).

Only letters that Unicode's own normal form (NFKD) leaves as they are: full-width, mathematical and
circled ones are Latin after it.
"""

_LATIN = {
    "a": "ɑαаᎪᗅᴀ⍺ꓮ𐊠𖽀",
    "b": "ƀƄʙΒβЬвᏏᏴᑲᖯᗷꓐꞴ𐊂𐊡𐌁",
    "c": "ȼсᏟᴄⲤⲥꓚꞓꮯ𐊢𐌂𐐕𐐽𐔜𑣩𑣲🝌",
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
# A capital i, a small L and a one are the same stroke; so are an O and a zero.
_STROKES = {"l": "i", "1": "i", "0": "o"}

LOOK_ALIKES = str.maketrans(
    {letter: latin for latin, letters in _LATIN.items() for letter in letters}
    | {
        chr(first + place): chr(ord("a") + place)
        for first in _ALPHABETS
        for place in range(_LETTERS)
    }
)
"""Letter to the Latin one that a reader sees, small; use it with `str.translate`."""

STROKES = str.maketrans(_STROKES)
"""Small Latin letters that a reader cannot tell apart, to one of them."""
