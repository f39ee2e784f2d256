#!/bin/sh
# Prints one line for each downloaded file or installed package: kind, name, version, file, digest, size, separated by
# tabs.
set -eu
case "$1" in
fetched)
  for file in /fetch/apt/archives/*.deb; do
    [ -e "$file" ] || continue
    printf 'apt\t%s\t%s\t%s\t%s\t%s\n' "$(dpkg-deb -f "$file" Package)" "$(dpkg-deb -f "$file" Version)" \
      "$(basename "$file")" "$(sha256sum "$file" | cut -c 1-64)" "$(stat -c %s "$file")"
  done
  for file in /fetch/pip/*.whl; do
    [ -e "$file" ] || continue
    name=$(basename "$file")
    printf 'pip\t%s\t%s\t%s\t%s\t%s\n' "${name%%-*}" "$(echo "$name" | cut -d - -f 2)" "$name" \
      "$(sha256sum "$file" | cut -c 1-64)" "$(stat -c %s "$file")"
  done
  ;;
npm-sizes)
  # The digest and the size of each file in npm's cache. No program of a package has run.
  [ ! -d /fetch/npm-cache/_cacache/index-v5 ] || /usr/local/bin/node -e '
const { readdirSync, readFileSync } = require("node:fs")
const folder = "/fetch/npm-cache/_cacache/index-v5"
for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue
  for (const line of readFileSync(entry.parentPath + "/" + entry.name, "utf8").split("\n")) {
    const text = line.slice(line.indexOf("\t") + 1)
    if (!text.startsWith("{")) continue
    const { integrity, size } = JSON.parse(text)
    if (typeof integrity === "string" && Number.isInteger(size)) console.log(integrity + "\t" + size)
  }
}'
  ;;
libraries)
  # The libraries of Node in the archives of their packages: path, and digest of the file or target of the link.
  for file in /fetch/apt/archives/libc6_*.deb /fetch/apt/archives/libstdc++6_*.deb /fetch/apt/archives/libgcc-s1_*.deb \
    /fetch/apt/archives/libatomic1_*.deb; do
    [ -e "$file" ] || continue
    folder=$(mktemp -d)
    dpkg-deb --extract "$file" "$folder"
    cd "$folder"
    find . -name '*.so*' -type l -printf '%P\t%l\n'
    find . -name '*.so*' -type f -printf '%P\n' | while read -r path; do
      printf '%s\t%s\n' "$path" "$(sha256sum < "$path" | cut -c 1-64)"
    done
    cd /
    rm -r "$folder"
  done
  ;;
installed)
  # Programs of packages have run by now: Python reads no folder of packages, and Node is named by its path.
  dpkg-query --show --showformat 'apt\t${Package}\t${Version}\t\t\n'
  [ ! -d /opt/flotilla/packages/pip ] || python3 -I -S -c '
from importlib.metadata import distributions
for one in distributions(path=["/opt/flotilla/packages/pip"]):
    print("pip", one.metadata["Name"], one.version, "", "", sep="\t")'
  [ ! -d /opt/flotilla/packages/npm ] || /usr/local/bin/node -e '
const { readFileSync } = require("node:fs")
const { packages } = JSON.parse(readFileSync("/opt/flotilla/packages/npm/node_modules/.package-lock.json", "utf8"))
for (const [path, { version, name }] of Object.entries(packages))
  console.log(["npm", name ?? path.slice(path.lastIndexOf("node_modules/") + 13), version, "", ""].join("\t"))'
  ;;
esac
