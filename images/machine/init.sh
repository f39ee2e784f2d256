#!/bin/busybox sh
# The first process of an agent's machine: makes its devices and disks ready and runs what the plan says behind the walls
# of a container. It hears the launcher on the port "control", and tells there how what it ran has ended.
export PATH=/bin
if [ ! -e /moved ]; then
  # From the file system that a kernel begins on, none can be entered for good: on to another.
  mount -t tmpfs -o mode=0755 machine /new
  cp -a /bin /lib /lib64 /init /plan /modules /new/
  mkdir -p /new/proc /new/sys /new/dev /new/agent /new/briefing /new/data /new/run /new/tmp
  : > /new/moved
  exec switch_root /new /init
fi
mount -t proc -o nosuid,nodev,noexec proc /proc
mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
mount -t devtmpfs -o nosuid,noexec devtmpfs /dev
while read -r module; do insmod "/modules/$module.ko"; done < /modules/order

port() { for one in /sys/class/virtio-ports/*; do [ "$(cat "$one/name")" = "$1" ] && echo "/dev/${one##*/}"; done; }
output=$(port output)
# A port is opened once at a time.
exec 3<> "$(port control)"
say() { echo "$*" >&3; }

finish() {
  fsfreeze --unfreeze /data 2> /dev/null
  umount /data 2> /dev/null || umount -l /data 2> /dev/null
  sync
  say "end $*"
  poweroff -f
}
fail() {
  say "failed $*"
  finish 70 broken
}

. /plan/machine

mount -t ext4 -o ro,noload,nodev /dev/vda /agent || fail "the root disk cannot be mounted"

open_disk() {
  e2fsck -p /dev/vdb > /run/check 2>&1
  [ $? -lt 4 ] || fail "the data disk is damaged: $(tail -n 3 /run/check | tr '\n' ' ')"
  if [ "$DISK_BLOCKS" -gt 0 ]; then
    # It says 1 where it mended something, and it always makes the lost+found that is taken away again.
    e2fsck -f -p /dev/vdb > /run/check 2>&1
    [ $? -ge 4 ] || resize2fs /dev/vdb "$DISK_BLOCKS" >> /run/check 2>&1
    debugfs -w -R 'rmdir lost+found' /dev/vdb >> /run/check 2>&1
  fi
  mount -t ext4 -o nodev,nosuid,noatime,discard,commit=1,errors=remount-ro /dev/vdb /data || fail "the data disk cannot be mounted"
}

if [ "$MODE" = read ]; then
  # What runs on it is held, or has ended; either way nothing is changed.
  mount -t ext4 -o ro,noload,nodev,nosuid,noexec /dev/vdb /data || fail "the data disk cannot be mounted"
  tar -C /data -cf "$output" .
  finish $?
fi
[ ! -b /dev/vdb ] || open_disk
if [ "$BRIEFING" = 1 ]; then
  mount -t 9p -o trans=virtio,version=9p2000.L,ro,nodev,nosuid,noexec,cache=none,msize=65536 briefing /briefing || fail "the briefing cannot be mounted"
fi
unpack_files() {
  # What the agent left below /data may lead out of it: there is nothing where it leads.
  mkdir -p /jail/bin /jail/data
  cp /bin/busybox /jail/bin/
  mount --bind /data /jail/data
  chroot /jail /bin/busybox tar -C /data -xpf - < /plan/files.tar
  unpacked=$?
  umount /jail/data && rm -r /jail
  return $unpacked
}
[ ! -e /plan/files.tar ] || unpack_files || fail "the files of the agent cannot be written"

printf '127.0.0.1\tlocalhost\n%s\t%s\n' "${ADDRESS%/*}" "$HOST_NAME" > /run/hosts
echo "$HOST_NAME" > /run/hostname
# There is nobody to ask, and so that is known at once.
echo 'nameserver 127.0.0.1' > /run/resolv.conf
ip link set lo up
ip address add "$ADDRESS" dev eth0
ip link set eth0 up

mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 /sys/fs/cgroup
echo '+memory +pids' > /sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/agent
echo "$AGENT_MEMORY" > /sys/fs/cgroup/agent/memory.max
echo "$AGENT_PROCESSES" > /sys/fs/cgroup/agent/pids.max
# What is written leaves the machine within seconds, so that little is lost with one that is killed.
for setting in kernel.dmesg_restrict=1 kernel.kptr_restrict=2 kernel.unprivileged_bpf_disabled=2 kernel.perf_event_paranoid=3 \
  kernel.sysrq=0 kernel.kexec_load_disabled=1 kernel.modules_disabled=1 user.max_user_namespaces=0 vm.dirty_expire_centisecs=100 vm.dirty_writeback_centisecs=100; do
  sysctl -qw "$setting"
done 2> /dev/null

# The rate of an emulated clock is a guess at first: what the launcher says of the second puts time and rate right.
began=
set_clock() {
  now=$(sed 's/^\([0-9]*\)\.\([0-9]*\) .*/\1\2/' /proc/uptime)
  off=$(($(date +%s) - $1))
  if [ -z "$began" ] || [ $off -gt 1 ] || [ $off -lt -1 ]; then date -s "@$1" > /dev/null; fi
  if [ -n "$began" ] && [ $(($1 - began)) -ge 40 ]; then
    rate=$(adjtimex | sed -n 's/.*-t *tick: *\([0-9]*\).*/\1/p')
    rate=$((rate * ($1 - began) * 100 / (now - began_now)))
    [ $rate -gt 9000 ] && [ $rate -lt 11000 ] && adjtimex -q -t $rate
  fi
  began=$1 began_now=$now
}

if [ "$(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)" != kvm-clock ]; then
  pause=2
  while sleep $pause; do
    say clock
    [ $pause -ge 60 ] || pause=$((pause * 5))
  done &
fi

ulimit -n 8192
crun --root /run/crun --cgroup-manager=cgroupfs run --bundle /plan agent < /dev/null > "$output" 2>&1 &
runner=$!
signal() { crun --root /run/crun --cgroup-manager=cgroupfs kill agent "$1"; }
holder=
while read -r word rest; do
  case $word in
    stop)
      signal TERM
      { sleep 5; signal KILL; } &
      ;;
    time) set_clock "$rest" ;;
    freeze)
      sync
      fsfreeze --freeze /data
      say "frozen $?"
      # Longer than anybody holds it: whoever did may be gone.
      { sleep 45; fsfreeze --unfreeze /data; } &
      holder=$!
      ;;
    thaw)
      [ -z "$holder" ] || kill $holder
      holder=
      fsfreeze --unfreeze /data
      say "thawed $?"
      ;;
  esac
done <&3 &
wait $runner
code=$?
killed=$(sed -n 's/^oom_kill //p' /sys/fs/cgroup/agent/memory.events)
[ "$code" -ne 0 ] && [ "${killed:-0}" -gt 0 ] && finish "$code" memory
finish "$code" ended
