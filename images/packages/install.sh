#!/bin/sh
# Installs what fetch.sh downloaded. The proxy is closed by now, so that programs of packages run without a network.
set -eu
export HOME=/fetch/home
mkdir -p "$HOME" /opt/flotilla/packages

set -- /fetch/apt/archives/*.deb
if [ -e "$1" ]; then
  # Services of packages must not start during the installation.
  printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
  chmod 755 /usr/sbin/policy-rc.d
  mkdir -p /fetch/apt/empty/partial
  DEBIAN_FRONTEND=noninteractive apt-get -q install --yes --no-install-recommends --allow-downgrades \
    -o APT::Sandbox::User=root -o Dir::State::lists=/fetch/apt/empty -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
    -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=/dev/null "$@"
  rm -f /usr/sbin/policy-rc.d
fi

if [ -d /fetch/npm ]; then
  mkdir -p /opt/flotilla/packages/npm
  cd /opt/flotilla/packages/npm
  cp /fetch/npm/package.json /fetch/npm/package-lock.json .
  npm_config_cache=/fetch/npm-cache npm_config_userconfig=/fetch/config/npmrc npm_config_audit=false \
    npm_config_fund=false npm_config_update_notifier=false npm_config_loglevel=error npm ci --offline
  cd /
fi

if [ -d /fetch/pip ]; then
  PIP_CONFIG_FILE=/dev/null PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore \
    python3 /fetch/pip.whl/pip install --quiet --no-index --no-deps --target /opt/flotilla/packages/pip /fetch/pip/*.whl
  echo /opt/flotilla/packages/pip > /usr/lib/python3/dist-packages/flotilla-packages.pth
fi

rm -rf /var/cache/apt/* /var/lib/apt/lists/* /var/log/* /var/tmp/* /root/.npm /root/.cache
find /tmp /data -mindepth 1 -delete
# As in the agent image: no file keeps a set-user-id bit.
find / -xdev -type f -perm /6000 -exec chmod a-s {} +
