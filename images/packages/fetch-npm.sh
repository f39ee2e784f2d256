#!/bin/sh
# Downloads the packages of npm's lock file into npm's cache, without their install scripts. The mesh checked the lock
# file and wrote the loopback addresses of the registries into it.
set -euf
export HOME=/fetch/home
cd /fetch/npm
export npm_config_userconfig=/fetch/config/npmrc npm_config_cache=/fetch/npm-cache npm_config_audit=false \
  npm_config_fund=false npm_config_update_notifier=false npm_config_ignore_scripts=true npm_config_loglevel=error \
  npm_config_allow_git=none npm_config_replace_registry_host=never
npm ci
rm -rf node_modules
# Install scripts read the cache as another user.
chmod -R go-w,a+rX /fetch/npm-cache
