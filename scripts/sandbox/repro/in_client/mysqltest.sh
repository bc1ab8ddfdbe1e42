#!/bin/bash
# Runs in a container beside a server, in its network, and ends with its input.
# usage: bash -c … mysqltest <servers> [<test> <result, or empty> <folder of its suite, or empty> [<name=value>…]]
# <servers>: host:port of each, separated by blanks. As for the server's own test driver each has a port on 127.0.0.1, from 16001
# on, which a test finds in variables; a replica connects to its source by the same. Without a test it only has those ports.
# Input of a test: the size of an archive in characters, then the archive: tar.gz in base64, unpacked where the suites are.
set -u
servers=$1 test=${2:-} result=${3:-} suite=${4:-}
exec 3<&0
trap 'exit 143' TERM
mkdir -p /t/var/tmp /t/var/log /t/var/run
# MySQL's tests leave a mark for their driver beside the data.
mkdir -p /var/lib/mysql/mtr

number=0
for server in $servers; do
  number=$((number + 1))
  port=$((16000 + number))
  socat "TCP-LISTEN:$port,bind=127.0.0.1,reuseaddr,fork,nodelay" "TCP:$server,nodelay" 3<&- &
  export "SERVER_MYPORT_$number=$port" "NODE_MYPORT_$number=$port"
  until grep -q "0100007F:$(printf '%04X' "$port") 00000000:0000 0A" /proc/net/tcp; do
    kill -0 "$!" || exit 1
    sleep 0.02
  done
done
echo ready
if [ -z "$test" ]; then
  cat <&3 >/dev/null
  exit 0
fi

shift 4
read -r size <&3
head -c "$size" <&3 | base64 -d | tar -xz -C /mysql-test
{ cat <&3 >/dev/null; kill -TERM $$; } &

export MYSQL_TEST_DIR=/mysql-test MYSQLTEST_VARDIR=/t/var MYSQL_TMP_DIR=/t/var/tmp
export MASTER_MYPORT=16001 SLAVE_MYPORT=16002 MASTER_MYPORT1=16003 SLAVE_MYPORT1=16004
export BIG_TEST=1 VALGRIND_TEST=0 USE_RUNNING_SERVER=1 LANG=C.UTF-8
for assignment; do export "${assignment?}"; done
$MYSQLTEST --version | head -n 1
# Only MariaDB's looks for includes in the folder of a suite, too.
[ -d "$suite" ] && $MYSQLTEST --help | grep -q -- --suite-dir || suite=""
$MYSQLTEST --host=127.0.0.1 --port=16001 --user=root --password= --database=test --silent \
  --tmpdir=/t/var/tmp --logdir=/t/var/log --tail-lines=20 --test-file="$test" ${result:+--result-file="$result"} \
  ${suite:+--suite-dir="/mysql-test/$suite/"} 3<&- &
wait $!
