#!/bin/sh
# Runs in a node: answers each line of its input, the name of one of the node's questions, in one line that starts with ASCII 30:
# the exit code, and the last line of the answer. Who asks often saves the 80 ms that every other exec costs.
newline='
'
while read -r question; do
  answer=$(sh /sandbox/probe "$question" 2>&1 </dev/null)
  code=$?
  printf '\036%s %s\n' "$code" "${answer##*"$newline"}"
done
