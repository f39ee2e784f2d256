#!/bin/sh
# One connection of the agent's to the agent API or the proxy of the mesh: door.sh HOST PORT. More of them at once would take
# the memory and the processes that QEMU itself needs, and end the machine.
host=$1 port=$2
set -- /proc/[0-9]*
[ $# -le 70 ] || exit 1
exec nc -N "$host" "$port"
