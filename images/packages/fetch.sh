#!/bin/sh
# Downloads packages into the volume /fetch and runs no program of any package: apt only downloads, npm only chooses
# versions (fetch-npm.sh downloads them), and pip takes wheels alone, because a source archive would be built by its own
# code. The registries have loopback addresses in the configuration; the mesh passes requests on and adds credentials.
# APT, NPM and PIP hold the requests, separated by spaces; LOCKED is 1 if they are the exact versions of a lock.
set -euf
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
  mkdir -p /fetch/apt/lists/partial /fetch/apt/archives/partial /fetch/apt/trusted
  # Keys of the image and of the machine, for sources that name no key.
  find /etc/apt/trusted.gpg.d /fetch/config/trusted -maxdepth 1 -type f -exec cp {} /fetch/apt/trusted/ ';' 2> /dev/null || true
  apt_get() {
    DEBIAN_FRONTEND=noninteractive apt-get -q \
      -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3 \
      -o Acquire::http::Proxy=DIRECT -o Dir::Etc::trustedparts=/fetch/apt/trusted \
      -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=/fetch/config/apt \
      -o Dir::State::lists=/fetch/apt/lists -o Dir::Cache::archives=/fetch/apt/archives \
      -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= "$@"
  }
  apt_get update --error-on=any
  apt_get install --yes --download-only --no-install-recommends $APT
fi

if [ -n "$NPM" ] && [ "$LOCKED" != 1 ]; then
  mkdir -p /fetch/npm
  cd /fetch/npm
  export npm_config_userconfig=/fetch/config/npmrc npm_config_cache=/fetch/npm-cache npm_config_audit=false \
    npm_config_fund=false npm_config_update_notifier=false npm_config_ignore_scripts=true npm_config_loglevel=error \
    npm_config_allow_git=none npm_config_replace_registry_host=always
  echo '{"name":"flotilla-packages","private":true}' > package.json
  npm install --package-lock-only $NPM
fi

if [ -n "$PIP" ]; then
  mkdir -p /fetch/pip
  export PIP_CONFIG_FILE=/fetch/config/pip.conf PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_ROOT_USER_ACTION=ignore PIP_NO_INPUT=1
  python3 /fetch/recipe/fetch-pip.py
  if [ "$LOCKED" = 1 ]; then
    set -- --no-deps --require-hashes --requirement /fetch/config/requirements.txt
  else
    set -- $PIP
  fi
  python3 /fetch/pip.whl/pip download --quiet --dest /fetch/pip --only-binary :all: "$@"
fi
