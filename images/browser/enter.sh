#!/bin/sh
# The first program of a browser's container. As root it lays the filter, looks whether each rule stands, and becomes
# UID 1000 for good; where a rule is missing nothing is started and the container ends with 78.
set -u
PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin

refuse() {
  echo "The egress filter does not stand: $1" >&2
  exit 78
}

gateway=${FLOTILLA_BROWSER_GATEWAY:-}
port=${FLOTILLA_BROWSER_PROXY_PORT:-}
echo "$gateway" | grep -Eqx '[0-9]{1,3}(\.[0-9]{1,3}){3}' || refuse 'FLOTILLA_BROWSER_GATEWAY is no IPv4 address'
echo "$port" | grep -Eqx '[1-9][0-9]{0,4}' || refuse 'FLOTILLA_BROWSER_PROXY_PORT is no port'

# The engine's name server answers on loopback, and asks further outside of this filter.
names=127.0.0.11/32
# IANA's special-purpose registries, what clouds tell their machines at public addresses, and multicast.
ranges4='0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 161.26.0.0/16 166.8.0.0/14 168.63.129.16/32 169.254.0.0/16
  172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16
  192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4'
# All that is not 2000::/3 was never given out to the public.
ranges6='::/3 4000::/2 8000::/1 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20'

# Order counts: what is allowed stands before what is refused, and what is left is refused at the end: the proxy is the one
# way out, so that the ranges above are a second wall for the day when somebody widens the first.
rules4() {
  echo "-d $names -j REJECT"
  echo '-o lo -j ACCEPT'
  echo '-m conntrack --ctstate ESTABLISHED -j ACCEPT'
  echo "-d $gateway/32 -p tcp -m tcp --dport $port -j ACCEPT"
  for range in $ranges4; do echo "-d $range -j REJECT"; done
  echo '-j REJECT'
}
rules6() {
  echo '-o lo -j ACCEPT'
  echo '-m conntrack --ctstate ESTABLISHED -j ACCEPT'
  for range in $ranges6; do echo "-d $range -j REJECT"; done
  echo '-j REJECT'
}

# All at once or not at all, and nothing of what stood there before.
lay() {
  {
    echo '*filter'
    echo ':INPUT ACCEPT [0:0]'
    echo ':FORWARD DROP [0:0]'
    echo ':OUTPUT DROP [0:0]'
    "$2" | sed 's/^/-A OUTPUT /'
    echo COMMIT
  } | "$1-restore" -w 5 2>/tmp/filter.err || refuse "$1: $(head -c 300 /tmp/filter.err | tr '\n' ' ')"
}

# Each rule as the kernel holds it, and no rule beside them.
check() {
  "$2" | while read -r rule; do
    # shellcheck disable=SC2086
    "$1" -w 5 -C OUTPUT $rule 2>/dev/null || { echo "$rule" >&3; exit 1; }
  done 3>/tmp/filter.missing || refuse "$1 lacks the rule $(head -c 300 /tmp/filter.missing)"
  found=$("$1" -w 5 -S OUTPUT | grep -c '^-A')
  [ "$found" = "$("$2" | grep -c .)" ] || refuse "$1 holds $found rules, and those are not ours alone"
  "$1" -w 5 -S OUTPUT | grep -qx -- '-P OUTPUT DROP' || refuse "$1 lets through what no rule names"
}

lay iptables rules4
check iptables rules4
# A kernel without IPv6 has neither its tables nor anything to close.
if [ -e /proc/net/if_inet6 ]; then
  lay ip6tables rules6
  check ip6tables rules6
fi
rm -f /tmp/filter.err /tmp/filter.missing

# The bounding set could be emptied by CAP_SETPCAP alone, which is not here; without new privileges it gives nothing.
export HOME=/data
exec setpriv --reuid 1000 --regid 1000 --clear-groups --inh-caps=-all --ambient-caps=-all --no-new-privs \
  node --disable-sigusr1 /opt/flotilla/browser.cjs
