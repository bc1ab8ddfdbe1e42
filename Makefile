# Every target is a command of `.venv/bin/sandbox` or of scripts/check; `make help` tells what they do.
# A variable is handed over unchanged, and only when given on this command line: $(MAKEOVERRIDES) is make's own encoding of just those, the
# launcher decodes it, and nothing here expands a value or puts it into shell text. (Blanks before a value are dropped by make itself.)

override SHELL := /bin/sh
override .SHELLFLAGS := -c
override SANDBOX_VARIABLES := $(MAKEOVERRIDES)
override SANDBOX_GOALS := $(MAKECMDGOALS)
override MAKEOVERRIDES :=
override commands := $(filter-out __init__,$(basename $(notdir $(wildcard scripts/sandbox/commands/*.py))))
override checks := test test-unit test-long lint perf

# To export a variable is to expand it. What a target starts, a make of its own included, inherits nothing of this make.
export SANDBOX_VARIABLES SANDBOX_GOALS
unexport name $(foreach name,$(.VARIABLES),$(if $(findstring command line,$(origin $(name))),$(name)))
unexport MAKEFLAGS MFLAGS

.DEFAULT_GOAL := help
.NOTPARALLEL:
.SUFFIXES:
.PHONY: $(commands) $(checks)

$(commands) $(checks):
	@scripts/launch $@

.DEFAULT:
	@scripts/launch
