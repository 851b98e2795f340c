# IN: a SPIR-V file. OUT: its words as a comma-separated list of C literals.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1,\n" words "${hex}")
file(WRITE ${OUT} "${words}")
