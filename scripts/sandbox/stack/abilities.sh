#!/bin/sh
# usage: sh -c TEXT try WRITE_LIMIT; WRITE_LIMIT is the text of write_limit.sh.
# Runs in a container that sees the host's control groups and tries what the kernel can do. Each line: a name, `yes` or `no`, the answer.
try() {
  name=$1; shift
  if answer=$("$@" 2>&1); then echo "$name yes $answer"; else echo "$name no $(printf '%s' "$answer" | tail -n 1)"; fi
}
try netem tc qdisc add dev lo root netem delay 1ms
tc qdisc del dev lo root 2>/dev/null
try tbf tc qdisc add dev lo root tbf rate 1mbit burst 32kbit latency 400ms
try iptables iptables -A INPUT -s 192.0.2.1 -j DROP
try write-limit bash -c "$1" limit "$(hostname)"
try governor cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
try disk sh -c "df -Pm / | awk 'NR == 2 {print \$4}'"
