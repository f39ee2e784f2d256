# Fetches URLs with curl; the first word says whether past the proxy (direct) or through it (proxy).
way=$1
shift
lines=
for url in "$@"; do
  if [ "$way" = direct ]; then
    words=$(curl --noproxy '*' --silent --show-error --max-time 4 --output /dev/null --write-out '%{http_code}' "$url" 2>&1)
  else
    words=$(curl --silent --show-error --max-time 8 --output /dev/null --write-out '%{http_code} %{http_connect}' "$url" 2>&1)
  fi
  code=$?
  words=$(printf '%s' "$words" | tr '\n"\\' '   ')
  lines="$lines${lines:+,}{\"url\":\"$url\",\"exit\":$code,\"words\":\"$words\"}"
done
printf 'RESULT {"fetches":[%s]}\n' "$lines"
