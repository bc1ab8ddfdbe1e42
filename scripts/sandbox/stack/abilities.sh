#!/bin/sh
# Runs in a container of `make doctor` and tries what the kernel can do. Each line: a name, `yes` or `no`, the answer.
try() {
  name=$1; shift
  if answer=$("$@" 2>&1); then echo "$name yes $answer"; else echo "$name no $(printf '%s' "$answer" | tail -n 1)"; fi
}
try netem tc qdisc add dev lo root netem delay 1ms
tc qdisc del dev lo root 2>/dev/null
try tbf tc qdisc add dev lo root tbf rate 1mbit burst 32kbit latency 400ms
try iptables iptables -A INPUT -s 192.0.2.1 -j DROP
try governor cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
try disk sh -c "df -Pm / | awk 'NR == 2 {print \$4}'"
