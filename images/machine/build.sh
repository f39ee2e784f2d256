#!/bin/sh
# Runs while the image is built: lays out the first file system of a machine, with what its first process needs and no more.
set -eu
kernel=$(ls /lib/modules)
first=/machine/first
mkdir -p $first/bin $first/modules $first/new $first/plan $first/proc $first/sys $first/dev
cp "/boot/vmlinuz-$kernel" /machine/vmlinuz
cp /machine/init.sh $first/init
chmod 0755 $first/init /machine/launch.sh /machine/ask.sh

cp /bin/busybox $first/bin/
for name in $(/bin/busybox --list | grep -v ^busybox$); do ln -sf busybox "$first/bin/$name"; done
for program in crun tini-static e2fsck resize2fs debugfs; do
  file=$(command -v $program)
  rm -f $first/bin/$program
  cp "$file" $first/bin/
  ldd "$file" 2> /dev/null | grep -o '/[^ ]*' | while read -r part; do
    mkdir -p "$first${part%/*}"
    cp -n "$part" "$first$part"
  done
done

# Each in the order in which they need each other, and once.
while read -r module; do
  modprobe --dirname / --set-version "$kernel" --show-depends --ignore-install "$module"
done < /machine/modules.txt | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' > /machine/files
while read -r file; do
  name=${file##*/}
  cp "$file" $first/modules/
  echo "${name%.ko}"
done < /machine/files > $first/modules/order
grep -q '^virtio_blk$' $first/modules/order

(cd $first && find . | cpio -o -H newc --quiet --owner 0:0) > /machine/first.cpio
rm -r $first /machine/files /machine/init.sh
ls -l /machine
