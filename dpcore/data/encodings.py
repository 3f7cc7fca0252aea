"""Encodings of CSV files: those that are offered, a guess, and what is said where none fits."""

import codecs
import itertools
import re
from contextlib import suppress
from string import ascii_lowercase, ascii_uppercase, digits

_SCRIPTS = ("Central European", "Cyrillic", "Western European", "Greek", "Turkish", "Hebrew", "Arabic", "Baltic")
ENCODINGS = {  # that spreadsheets and statistics programs write
    "utf-8-sig": "UTF-8",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16 (little-endian)",
    "utf-16-be": "UTF-16 (big-endian)",
    "cp1252": "Western European (Windows)",
    "latin-1": "Latin-1",
    "iso8859-15": "Western European (ISO 8859-15)",
    "mac_roman": "Western European (Mac)",
    "cp850": "Western European (DOS)",
    **{f"cp{page}": f"{script} (Windows)" for page, script in enumerate(_SCRIPTS, 1250)},
    "cp932": "Japanese (Shift-JIS)",
    "gb18030": "Simplified Chinese (GB 18030)",
    "cp950": "Traditional Chinese (Big5)",
    "cp949": "Korean (Windows)",
}
_GUESSED = ("cp1252", "latin-1", "iso8859-15", "mac_roman", "cp850")  # beside Unicode, the likeliest first
_WORD = re.compile(rb"(?<![0-9A-Za-z\x80-\xff])[0-9A-Za-z]{0,40}[\x80-\xff][0-9A-Za-z\x80-\xff]{0,40}")  # beyond ASCII
_MOST_WORDS, _MOST_READ = 2**20, 2**14
_LETTERS = "àáâãäåæçèéêëìíîïñòóôõöøùúûüÿœšž"
_RARE = re.compile(r"[ŒœŠšŸŽž¡¿\u201e]|\w[\u2018\u201c\u2026]|[^\W\d]\xa0|\u2026\w")  # elsewhere common letters
_KINDS = {
    "a": f"{ascii_lowercase}ß",
    "A": ascii_uppercase,
    "0": digits,
    "e": _LETTERS,
    "E": _LETTERS.upper(),
    "s": "©«°±µ»×\u2013\u2014\u2018\u201c\u201d\u2026",  # not between letters
    ">": "£¥§€¹²³¼½¾ªº®™\u2022",  # not before a letter
    "<": "¡¿\u201e",  # not behind one
    "-": "\xa0\u2019",
}
_SHAPE = str.maketrans({sign: kind for kind, signs in _KINDS.items() for sign in signs})
# Shapes of words that no Western language writes: with another sign, a sign within or at the wrong end, small and large
# letters mixed, three letters beyond ASCII in a row, a letter after a digit, a capital alone, nothing in ASCII.
_ODD = re.compile(
    r"[^\x00-\x7f]|[aAeE]s[aAeE]|>[aAeE]|[aAeE0]<|[ae]E|eA|A[AE]e|AEa|[eE]{3}|0E|0e0|^E$|^(?![s>-]{2,3}$)[^aA0]{2,}$"
)


def guess_encoding(content: bytes) -> str:
    """Encoding in which the words of a file look least odd, "utf-8-sig" where that is not clear.

    >>> [guess_encoding("Müller, né".encode(encoding)) for encoding in ("utf-8", "cp1252", "mac_roman", "cp850")]
    ['utf-8-sig', 'cp1252', 'mac_roman', 'cp850']
    >>> guess_encoding("Миша".encode("cp1251")), guess_encoding("né".encode() + "né".encode("cp1252"))
    ('utf-8-sig', 'utf-8-sig')
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if content[first:4:2] == b"\0\0" and b"\0" not in content[1 - first : 4 : 2]:
            return encoding
    if _is_text(content, "utf-8-sig"):
        return "utf-8-sig"
    found = [*dict.fromkeys(match[0] for match in itertools.islice(_WORD.finditer(content), _MOST_WORDS))]
    words = b"\n".join(found[:_MOST_READ])
    odd: dict[str, int] = {}  # how many words of a reading are
    for encoding in _GUESSED:
        with suppress(UnicodeDecodeError):
            odd[encoding] = sum(map(_is_odd, words.decode(encoding).split("\n")))
    fits = [encoding for encoding in odd if odd[encoding] == min(odd.values())]
    text, *others = dict.fromkeys(map(words.decode, fits))
    several = others and (fits[0] != "cp1252" or _RARE.search(text))
    mixed = any(_is_text(word, "utf-8") and _is_odd(word.decode("latin-1")) for word in found)
    return "utf-8-sig" if several or mixed or 10 * odd[fits[0]] > len(text.split("\n")) else fits[0]


def other_bytes(content: bytes, name: str, encoding: str) -> str:
    """Sentence about bytes of a file that are no text in an encoding."""
    first: dict[bool, int] = {}  # line with letters beyond ASCII that is text, and that is none
    for number, line in enumerate(content.splitlines(), 1):
        if not line.isascii():
            first.setdefault(_is_text(line, encoding), number)
    known, got = ENCODINGS[encoding], "binary content or another encoding"
    if len(first) == 2 and encoding == "utf-8-sig" and b"\0" not in content:
        got = f"lines that are, such as line {first[True]:,}, and others that are not, such as line {first[False]:,}"
    elif False in first and not encoding.startswith("utf-16"):
        got += f" in line {first[False]:,}"
    return (
        f"{name} must be a text file in {known}, got {got}; save all of it as UTF-8, or choose the encoding in "
        f"which it is written: {', '.join(ENCODINGS.values())}; Latin-1 reads any bytes"
    )


def _is_odd(word: str) -> bool:
    return _ODD.search(word.translate(_SHAPE)) is not None


def _is_text(content: bytes, encoding: str) -> bool:
    try:
        return content.decode(encoding) is not None
    except UnicodeDecodeError:
        return False
