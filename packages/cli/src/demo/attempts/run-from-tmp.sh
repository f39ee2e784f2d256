# Puts a script and a copy of a real program into /tmp and tries to run both. Both run from /data: the control.
folder=$(mktemp -d /tmp/flotilla-demo-XXXXXX)
control=$(mktemp -d ./flotilla-demo-XXXXXX)
outcome() {
  words=$("$1" 2>&1 >/dev/null) && { echo ran; return; }
  printf '%s' "${words##*: }" | tr '\n"\\' '   '
}
for place in "$folder" "$control"; do
  printf '#!/bin/sh\necho ran\n' >"$place/script"
  cp /bin/true "$place/program"
  chmod 755 "$place/script" "$place/program"
done
printf 'RESULT {"script":"%s","program":"%s","control":"%s"}\n' \
  "$(outcome "$folder/script")" "$(outcome "$folder/program")" "$(outcome "$control/program")"
rm -rf "$folder" "$control"
