#!/bin/sh
# Installs what fetch.sh downloaded. The connection to the registries is closed by now, so that programs of packages run
# without a network. They can only read /fetch, in which no file has a credential.
set -eu
export HOME=/tmp/home
mkdir -p "$HOME" /opt/flotilla/packages

set -- /fetch/apt/archives/*.deb
if [ -e "$1" ]; then
  # Services of packages must not start during the installation.
  printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
  chmod 755 /usr/sbin/policy-rc.d
  mkdir -p /tmp/apt-lists/partial /tmp/apt-archives/partial
  DEBIAN_FRONTEND=noninteractive apt-get -q install --yes --no-install-recommends --allow-downgrades \
    -o APT::Sandbox::User=root -o Dir::State::lists=/tmp/apt-lists -o Dir::Cache::archives=/tmp/apt-archives -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=/dev/null "$@"
  rm -f /usr/sbin/policy-rc.d
fi

if [ -d /fetch/pip ]; then
  PIP_CONFIG_FILE=/dev/null PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
    python3 /fetch/pip.whl/pip install --quiet --no-index --no-deps --target /opt/flotilla/packages/pip /fetch/pip/*.whl
  echo /opt/flotilla/packages/pip > /usr/lib/python3/dist-packages/flotilla-packages.pth
fi

if [ -d /fetch/npm ]; then
  # Install scripts come from any author, so they run as a user that can change only this folder and temporary files.
  # Its home is below /tmp, whose size is limited. It only reads the downloads: npm writes to the index of its cache, which
  # is copied, and not to the content, which is linked.
  mkdir -p /opt/flotilla/packages/npm /tmp/npm-home /tmp/npm-cache/_cacache
  cp -R /fetch/npm-cache/_cacache/index-v5 /tmp/npm-cache/_cacache/
  ln -s /fetch/npm-cache/_cacache/content-v2 /tmp/npm-cache/_cacache/content-v2
  cp /fetch/npm/package.json /fetch/npm/package-lock.json /opt/flotilla/packages/npm/
  chown -hR 65534:65534 /opt/flotilla/packages/npm /tmp/npm-home /tmp/npm-cache
  as_nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs "$@"
  }
  cd /opt/flotilla/packages/npm
  HOME=/tmp/npm-home npm_config_cache=/tmp/npm-cache npm_config_logs_max=0 npm_config_audit=false \
    npm_config_fund=false npm_config_update_notifier=false npm_config_loglevel=error npm_config_allow_git=none \
    as_nobody npm ci --offline
  cd /
  # A process that a script left behind could change files while their owner is changed.
  as_nobody /usr/local/bin/node -e 'try { process.kill(-1, "SIGKILL") } catch {}' || true
  chown -hR 0:0 /opt/flotilla/packages/npm
fi

rm -rf /var/cache/apt/* /var/lib/apt/lists/* /var/log/* /var/tmp/* /root/.npm /root/.cache
find /tmp /data -mindepth 1 -delete
# As in the agent image: no file keeps a set-user-id bit.
find / -xdev -type f -perm /6000 -exec chmod a-s {} +
