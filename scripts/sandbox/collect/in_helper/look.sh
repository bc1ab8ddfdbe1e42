# shellcheck shell=bash
# What scripts beside a node may call. The helper shares the node's processes and network; the node's files are below $root.
# SANDBOX_OWN: process ids of the node itself; SANDBOX_PROGRAMS: of the programs that it is there for.

root=/proc/1/root
account=$root/sandbox/client.cnf
limit=${SANDBOX_LIMIT_S:-10}

print_files() { # patterns of paths in the node: each file below a line with its name; those that are not there are left out
  local pattern file
  for pattern; do
    for file in "$root"$pattern; do
      [ -f "$file" ] || continue
      printf '==> %s <==\n' "${file#"$root"}"
      cat "$file"
      echo
    done
  done
}

runs() { # words of a command line: ends the script, with nothing said, where no process of the node has them
  local each words
  for each in $SANDBOX_OWN; do
    mapfile -d '' words <"/proc/$each/cmdline" 2>/dev/null || continue
    [[ "${words[*]}" != *"$1"* ]] || return 0
  done
  exit 0
}

processes() {
  ps -o pid,ppid,user:12,stat,etime,time,rss,vsz,nlwp,wchan:24,args -p "${SANDBOX_OWN// /,}"
}

threads() {
  [ -z "$SANDBOX_PROGRAMS" ] || ps -L -o pid,tid,comm:16,stat,wchan:28,pcpu,time -p "${SANDBOX_PROGRAMS// /,}"
}

memory_map() {
  local each
  for each in $SANDBOX_PROGRAMS; do
    printf '# process %s\n' "$each"
    cat "/proc/$each/maps"
  done
}

is_stopped() { # process id: whether a signal has stopped it
  local stat
  read -r stat <"/proc/$1/stat"
  [[ ${stat##*) } = T* ]]
}

# The tracer is the helper's, and its root directory the node's: the paths of the program and its libraries are as the node has them.
# It stops one thread after the other, each for a moment; a debugger would stop the whole server for seconds, and a cluster would
# expel it. Program, libraries and their loader come through open files.
stacks() {
  local each loader libraries stopped
  command -v eu-stack >/dev/null || { echo 'there is no eu-stack in the image of the client' >&2; return 1; }
  loader=$(compgen -G '/lib*/ld-linux*.so.*' | head -n 1)
  libraries=$(compgen -G '/usr/lib/*/libdw.so.1' | head -n 1)
  exec 7<"$loader" 8<"${libraries%/*}" 9<"$(command -v eu-stack)"
  for each in $SANDBOX_PROGRAMS; do
    printf '# %s\n' "$(tr '\0' ' ' <"/proc/$each/cmdline")"
    is_stopped "$each" && stopped=yes || stopped=''
    timeout -k 1 "$limit" chroot "$root" /proc/self/fd/7 --library-path /proc/self/fd/8 /proc/self/fd/9 -m -p "$each"
    # The signal of a tracer that was ended too early would stop the server for good.
    [ -n "$stopped" ] || ! is_stopped "$each" || kill -CONT "$each"
  done
}

limits() {
  local each
  for each in $SANDBOX_PROGRAMS; do
    printf '# process %s\n' "$each"
    cat "/proc/$each/limits" "/proc/$each/cgroup" "/proc/$each/status"
  done
  echo '# mounts'
  cat /proc/1/mounts
  echo '# free space of the data directory'
  stat --file-system --format='%T: %a of %b blocks of %S bytes free, %d of %c inodes' "$root/var/lib/mysql" 2>/dev/null
  echo '# memory, load and pressure of the machine'
  cat /proc/loadavg /proc/meminfo /proc/pressure/* 2>/dev/null
}

own_logs() {
  local file
  shopt -s nullglob
  for file in "$root"/var/lib/mysql/*.err "$root"/var/lib/mysql/*.log "$root"/var/log/mysql/* "$root"/var/log/mysqld.log; do
    case ${file##*/} in tc.log | ddl_recovery.log) continue ;; esac # of the server for itself
    [ -f "$file" ] && [ -s "$file" ] || continue
    printf '==> %s <==\n' "${file#"$root"}"
    tail -c 5000000 "$file"
    echo
  done
}

http() { # port, path: the answer of an HTTP server in the node, without its head
  exec 6<>"/dev/tcp/127.0.0.1/$1" || return 1
  printf 'GET %s HTTP/1.0\r\n\r\n' "$2" >&6
  sed '1,/^\r*$/d' <&6
}

mysql_summary() {
  command -v pt-mysql-summary >/dev/null || { echo 'there is no pt-mysql-summary in the image of the client' >&2; return 1; }
  pt-mysql-summary --sleep 1 -- --defaults-file="$account" 2>&1
}

stalk() {
  local folder
  command -v pt-stalk >/dev/null || { echo 'there is no pt-stalk in the image of the client' >&2; return 1; }
  folder=$(mktemp -d)
  timeout -k 1 "$limit" pt-stalk --no-stalk --iterations=1 --run-time=1 --mysql-only --dest="$folder" --log="$folder/log" --pid="$folder/pid" \
    -- --defaults-file="$account" >"$folder/said" 2>&1
  for file in "$folder"/*; do
    printf '==> %s <==\n' "${file##*/}"
    cat "$file"
    echo
  done
}
