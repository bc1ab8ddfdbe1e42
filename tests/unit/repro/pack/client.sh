#!/bin/bash
# Stands for the command-line client of a server: prints what it would print (-vv, --batch), and answers from the file $ANSWERS.
# There the function `answer HOST SQL` prints rows, or one line `ok N`, `error CODE TEXT`, or `gone` to end as if it could not connect.
# shellcheck source=/dev/null
. "$ANSWERS"

host='' sql='' single=''
while (($#)); do
  case $1 in
    --host=*) host=${1#*=} ;;
    -e) single=yes sql=$2 && shift ;;
  esac
  shift
done

answered() { # SQL
  local rows
  rows=$(answer "$host" "$1")
  case $rows in
    error\ *) printf 'ERROR %s (HY000) at line 1: %s\n' "$(cut -d ' ' -f 2 <<<"$rows")" "$(cut -d ' ' -f 3- <<<"$rows")" >&2 ;;
    gone) echo "ERROR 2003 (HY000): Can't connect to server on '$host' (111)" >&2 && exit 1 ;;
    ok*) printf 'Query OK, %s rows affected\n\n' "${rows#ok }" ;;
    '') printf 'Empty set\n\n' ;;
    *) printf '%s\n%s rows in set\n\n' "$rows" "$(grep -c '' <<<"$rows")" ;;
  esac
}

if [ -n "$single" ]; then
  rows=$(answer "$host" "$sql")
  case $rows in
    error\ * | gone) echo "ERROR ${rows#error }" >&2 && exit 1 ;;
    ok*) ;;
    *) printf '%s\n' "$rows" ;;
  esac
  exit 0
fi
while IFS= read -r line; do
  case $line in
    'delimiter //' | '\W' | '\w' | '') ;;
    '\! '*) sh -c "${line#\\! }" ;;
    //)
      printf -- '--------------\n%s\n--------------\n\n' "${sql%$'\n'}"
      answered "${sql%$'\n'}"
      sql=''
      ;;
    *) sql+=$line$'\n' ;;
  esac
done
