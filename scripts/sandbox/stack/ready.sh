#!/bin/sh
# usage: sh -c TEXT ready.sh QUESTION [ROLE QUESTION [VERSION QUESTION]]; runs in a node and prints each new answer of its questions.
# One exec for many questions (20 ms each instead of 95). It ends with 0 when the node is ready, and with 75 after 20 s:
# if its caller has died, it ends soon.
# The shell reads the clock itself: `date` would cost a process per question while servers start.
last=
read -r now _ </proc/uptime
end=$((${now%.*} + 20))
while :; do
  if answer=$(sh /sandbox/probe "$1" 2>&1); then
    case $answer in  # a server may say its role at once
      writer | reader* | stale* | detached*) role=$answer ;;
      *) [ -z "$2" ] || role=$(sh /sandbox/probe "$2") || role= ;;
    esac
    [ -z "$2" ] || [ -z "$role" ] || printf 'role %s\n' "$role"
    [ -z "$3" ] || ! version=$(sh /sandbox/probe "$3") || printf 'version %s\n' "$version"
    printf 'ready %s\n' "$answer"
    exit 0
  fi
  [ "$answer" = "$last" ] || printf 'waiting %s\n' "$answer"
  last=$answer
  read -r now _ </proc/uptime
  [ "${now%.*}" -lt "$end" ] || exit 75
  sleep 0.1
done
