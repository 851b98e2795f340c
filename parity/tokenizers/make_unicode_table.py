"""Writes src/text/unicode_16.h: the characters that Unicode 15, 15.1 and 16 added to Unicode 14, by
general category, as the pinned `tokenizers` (Oniguruma with Unicode 16) sees them.

Run with a Python whose unicodedata is of Unicode 14:  python make_unicode_table.py > ../../src/text/unicode_16.h
"""

import sys
import unicodedata

from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Cf".split()
SCRIPTS = "Arabic Cyrillic Devanagari Greek Han Hangul Hebrew Hiragana Katakana Latin Thai".split()
SCALARS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def matching(pattern):
    split = Split(Regex(pattern), "removed", invert=True)
    found = set()
    for start in range(0, len(SCALARS), 4096):
        for piece, _ in split.pre_tokenize_str("".join(SCALARS[start : start + 4096])):
            found.update(piece)
    return found


def ranges(characters):
    out = []
    for code in sorted(map(ord, characters)):
        if out and out[-1][1] + 1 == code:
            out[-1][1] = code
        else:
            out.append([code, code])
    return out


def main():
    assert unicodedata.unidata_version == "14.0.0", unicodedata.unidata_version
    new = {c for c in SCALARS if unicodedata.category(c) == "Cn"} - matching(r"\p{Cn}")
    rows = [(a, b, name) for name in CATEGORIES for a, b in ranges(matching(r"\p{%s}" % name) & new)]
    assert sum(b - a + 1 for a, b, _ in rows) == len(new)
    scripts = [(a, b, name) for name in SCRIPTS for a, b in ranges(matching(r"\p{%s}" % name) & new)]
    print("// Made by parity/tokenizers/make_unicode_table.py; do not edit.")
    print("#pragma once\n\n#include <string_view>\n\nnamespace lemnos {\n")
    print("struct UnicodeRange {\n  char32_t first;\n  char32_t last;\n  std::string_view name;\n};\n")
    print("/// Characters of Unicode 16 that Unicode 14 lacks, by general category.")
    table("kCategoriesSince14", rows)
    print("\n/// The same by script, for the scripts that a pattern may name.")
    table("kScriptsSince14", scripts)
    print("\n}  // namespace lemnos")


def table(name, rows):
    print(f"inline constexpr UnicodeRange {name}[] = {{")
    for a, b, value in rows:
        print(f'    {{0x{a:X}, 0x{b:X}, "{value}"}},')
    print("};")


if __name__ == "__main__":
    sys.exit(main())
