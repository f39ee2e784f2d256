# Fetches URLs with curl; the first word says whether past the proxy (direct) or through it (proxy).
way=$1
shift
proxied=false
[ -n "$HTTP_PROXY$http_proxy" ] && proxied=true
lines=
for url in "$@"; do
  code=97
  if [ "$way" = direct ]; then
    words=$(curl --noproxy '*' --silent --show-error --max-time 4 --output /dev/null --write-out '%{http_code}' "$url" 2>&1)
    code=$?
  elif [ "$proxied" = true ]; then
    # An empty list of exceptions: loopback goes through the proxy, too.
    words=$(curl --noproxy '' --silent --show-error --max-time 8 --output /dev/null --write-out '%{http_code} %{http_connect}' "$url" 2>&1)
    code=$?
  else
    words="there is no proxy to ask"
  fi
  words=$(printf '%s' "$words" | tr '\n"\\' '   ')
  lines="$lines${lines:+,}{\"url\":\"$url\",\"exit\":$code,\"words\":\"$words\"}"
done
printf 'RESULT {"proxied":%s,"fetches":[%s]}\n' "$proxied" "$lines"
