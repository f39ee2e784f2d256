#!/bin/sh
# Runs inside the hardened container of an agent: starts its machine, speaks to it on the port "control", and ends as what
# ran in it has ended. The last line on its second output says how, for the mesh: what the agent prints goes to the first.
set -u
run=/run/machine
mkdir -p "$run/plan"
cd "$run" || exit 70

ended() { echo "machine-ended $1 ${2:-}" >&2; exit "$1"; }

# At the beginning of a second, which is all that the machine can be set to.
tell_time() {
  busybox usleep $((2000000 - $(date +1%6N)))
  echo "time $(date +%s)" >&4
}

# Where this container is, which is where its machine is for the agent.
cidr=$(busybox ip -4 -o address show dev eth0 2> /dev/null | sed -n 's/.* inet \([0-9.]*\/[0-9]*\).*/\1/p')
{
  printf '%s\n' "$MACHINE_SETTINGS"
  echo "MODE=$MACHINE_MODE"
  echo "ADDRESS=$cidr"
} > plan/machine
printf '%s' "$MACHINE_CONFIG" > plan/config.json
[ -z "$MACHINE_FILES" ] || printf '%s' "$MACHINE_FILES" | base64 -d > plan/files.tar
# A kernel takes several archives one after the other.
{ cat /machine/first.cpio; find plan | cpio -o -H newc --quiet --owner 0:0; } > first
rm -r plan
: > said
unset MACHINE_SETTINGS MACHINE_CONFIG MACHINE_FILES

set --
command='console=ttyS0 quiet loglevel=3 panic=-1 reboot=t ipv6.disable=1 mitigations=auto random.trust_cpu=on'
if [ "$MACHINE_ACCELERATION" = kvm ]; then
  set -- "$@" -accel kvm -cpu host
else
  # Software has no clock to measure the processor's by; the machine is told of ours, and again while it runs.
  khz=$(sed -n 's/^cpu MHz[^0-9]*\([0-9]*\)\.\([0-9][0-9][0-9]\).*/\1\2/p' /proc/cpuinfo | sort -n | tail -n 1)
  command="$command no_timer_check tsc=reliable tsc_early_khz=${khz:-2500000} lpj=5000000"
  set -- "$@" -accel tcg,tb-size=64 -cpu max
fi
if [ -n "$cidr" ] && [ "$MACHINE_MODE" = run ]; then
  net=$(busybox ipcalc -n "$cidr"); net=${net#*=}
  last=$(busybox ipcalc -b "$cidr"); last=${last#*=}
  forwards=
  for address in $MACHINE_DOORS; do forwards="$forwards,guestfwd=tcp:$address-cmd:sh /machine/door.sh ${address%:*} ${address##*:}"; done
  set -- "$@" -netdev "user,id=net,ipv6=off,restrict=on,net=$net/${cidr#*/},host=${last%.*}.$((${last##*.} - 1)),dns=${last%.*}.$((${last##*.} - 2)),hostfwd=tcp:${cidr%/*}:$MACHINE_PORT-${cidr%/*}:$MACHINE_PORT$forwards" \
    -device virtio-net-device,netdev=net
fi
# Whoever reads it may do so while another machine, which is held, has it open.
how=discard=unmap
[ "$MACHINE_MODE" = run ] || how=readonly=on,file.locking=off
# Where the disk below it is full, QEMU would hold the machine still until somebody speaks to it, and nobody does.
[ ! -e /machine/disk ] || set -- "$@" -drive "id=data,file=/machine/disk,format=raw,if=none,$how" -device virtio-blk-device,drive=data,werror=report,rerror=report
[ ! -e /machine/briefing ] || set -- "$@" -fsdev local,id=briefing,path=/machine/briefing,security_model=none,readonly=on -device virtio-9p-device,fsdev=briefing,mount_tag=briefing

mkfifo control.in control.out
# Once its input ends, nothing is taken from its output any more.
mkfifo nothing
exec 3<> nothing 4<> control.in
while read -r word rest; do
  if [ "$word" = clock ]; then tell_time & else echo "$word $rest" >> said; fi
done < control.out &
hears=$!
qemu-system-x86_64 -M microvm,acpi=on,pit=off,pic=off,rtc=on -m "$MACHINE_MEMORY_MB" -smp 1 -nodefaults -no-user-config \
  -display none -monitor none -no-reboot -kernel /machine/vmlinuz -initrd first -append "$command" \
  -chardev file,id=console,path=console -serial chardev:console \
  -drive id=root,file=/machine/root.ext4,format=raw,if=none,readonly=on -device virtio-blk-device,drive=root \
  -device virtio-serial-device -chardev stdio,id=output,signal=off -device virtserialport,chardev=output,name=output \
  -chardev pipe,id=control,path=control -device virtserialport,chardev=control,name=control "$@" <&3 &
machine=$!
trap 'echo stop >&4' TERM
while :; do
  wait $machine
  code=$?
  kill -0 $machine 2> /dev/null || break
done
# Where the machine never came to open it.
: <> control.out
wait $hears
end=$(sed -n 's/^end //p' said | tail -n 1)
sed -n 's/^failed //p' said >&2
[ -n "$end" ] || tail -c 2000 console >&2
# Whatever ends in order says so; a kernel that gave up has QEMU end with 0.
[ "$code" -ne 0 ] || code=70
# shellcheck disable=SC2086
ended ${end:-$code killed}
