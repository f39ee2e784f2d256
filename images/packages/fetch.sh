#!/bin/sh
# Downloads packages into the volume /fetch and runs no program of any package: apt only downloads, npm ignores install
# scripts, and pip takes wheels alone, because a source archive would be built by its own code.
# APT, NPM and PIP hold the requests, separated by spaces; LOCKED is 1 if they are the exact versions of a lock.
set -euf
proxy=http://127.0.0.1:3128
export HOME=/fetch/home
mkdir -p "$HOME"

# The listener is the container's first process and may not have begun yet.
tries=0
until node -e 'require("net").connect(3128, "127.0.0.1").on("connect", () => process.exit(0)).on("error", () => process.exit(1))'; do
  tries=$((tries + 1))
  [ $tries -lt 100 ] || { echo 'the connection to the registries did not open' >&2; exit 1; }
  sleep 0.1
done

if [ -n "$APT" ]; then
  mkdir -p /fetch/apt/lists/partial /fetch/apt/archives/partial
  apt_get() {
    DEBIAN_FRONTEND=noninteractive apt-get -q \
      -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3 \
      -o Acquire::http::Proxy=$proxy -o Acquire::https::Proxy=$proxy \
      -o Dir::State::lists=/fetch/apt/lists -o Dir::Cache::archives=/fetch/apt/archives \
      -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= "$@"
  }
  if [ -d /fetch/config/apt ]; then
    set -- -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=/fetch/config/apt
  else
    set --
  fi
  apt_get "$@" update --error-on=any
  apt_get "$@" install --yes --download-only --no-install-recommends $APT
fi

if [ -n "$NPM" ]; then
  mkdir -p /fetch/npm
  cd /fetch/npm
  export npm_config_userconfig=/fetch/config/npmrc npm_config_cache=/fetch/npm-cache npm_config_proxy=$proxy \
    npm_config_https_proxy=$proxy npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false \
    npm_config_ignore_scripts=true npm_config_loglevel=error
  if [ "$LOCKED" != 1 ]; then
    echo '{"name":"flotilla-packages","private":true}' > package.json
    npm install --package-lock-only $NPM
  fi
  npm ci
  rm -rf node_modules
fi

if [ -n "$PIP" ]; then
  mkdir -p /fetch/pip
  export http_proxy=$proxy https_proxy=$proxy PIP_CONFIG_FILE=/fetch/config/pip.conf \
    PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
  python3 /fetch/recipe/fetch-pip.py
  if [ "$LOCKED" = 1 ]; then
    set -- --no-deps --require-hashes --requirement /fetch/config/requirements.txt
  else
    set -- $PIP
  fi
  python3 /fetch/pip.whl/pip download --quiet --dest /fetch/pip --only-binary :all: "$@"
fi
