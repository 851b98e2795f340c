# Names for what people do; the work is in scripts/ and CMake.
.PHONY: build test unit parity qualify demo lint format

build:
	cmake --preset release
	cmake --build --preset release

test:
	scripts/test

unit:
	scripts/test unit

parity:
	scripts/parity

qualify:
	scripts/qualify

demo:
	scripts/demo

lint:
	scripts/lint

# The C++ files that differ from the last commit (clang-format is not installed by scripts/bootstrap).
format:
	{ git diff --name-only --diff-filter=d HEAD -- '*.cpp' '*.h'; \
	  git ls-files --others --exclude-standard -- '*.cpp' '*.h'; } | xargs -r clang-format -i
