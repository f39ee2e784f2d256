#!/bin/sh
# Says a word to the machine of this container and waits for its answer, whose number it ends with: ask.sh freeze frozen
set -u
cd /run/machine || exit 70
answers() { grep -c "^$1 " said; }
before=$(answers "$2")
echo "$1" > control.in
tries=0
while [ "$(answers "$2")" = "$before" ]; do
  tries=$((tries + 1))
  [ $tries -lt 200 ] || exit 75
  busybox usleep 50000
done
exit "$(sed -n "s/^$2 //p" said | tail -n 1)"
