# Tries to write outside of /data.
lines=
for path in /flotilla-demo-attempt /usr/bin/flotilla-demo-attempt /etc/flotilla-demo-attempt; do
  if words=$( (echo attempt >"$path") 2>&1 ); then
    rm -f "$path"
    words=written
  fi
  words=$(printf '%s' "$words" | sed 's/.*: //' | tr '\n"\\' '   ')
  lines="$lines${lines:+,}{\"path\":\"$path\",\"words\":\"$words\"}"
done
printf 'RESULT {"user":%s,"writes":[%s]}\n' "$(id -u)" "$lines"
