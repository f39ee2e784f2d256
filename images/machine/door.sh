#!/bin/sh
# One line of the agent's to a door: door.sh HOST PORT. More of them at once would take the memory and the processes that
# QEMU itself needs, and end the machine.
host=$1 port=$2
set -- /proc/[0-9]*
[ $# -le 70 ] || exit 1
exec nc -N "$host" "$port"
