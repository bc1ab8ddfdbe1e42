# Every target is a command of `.venv/bin/sandbox` or of scripts/check; `make help` describes them.
# A variable is passed on unchanged, and only if given on this command line: $(MAKEOVERRIDES) is make's own encoding of just those, the
# launcher decodes it, and nothing here expands a value or puts it into shell text. (Make itself drops blanks before a value.)

override SHELL := /bin/sh
override .SHELLFLAGS := -c
override SANDBOX_VARIABLES := $(MAKEOVERRIDES)
override SANDBOX_GOALS := $(MAKECMDGOALS)
override MAKEOVERRIDES :=
override files := $(filter-out __init__,$(basename $(notdir $(wildcard scripts/sandbox/cli/commands/*.py))))
override commands := $(subst _,-,$(files))
override checks := test test-unit test-long lint perf

# Exporting a variable expands it. What a target starts, another make included, inherits nothing of this make.
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
