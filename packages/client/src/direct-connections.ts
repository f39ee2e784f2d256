import { setGlobalProxyFromEnv } from 'node:http'

/** Matches Node's option that makes all connections use the proxies of the environment. */
const switches = /(?:^|\s)--use-env-proxy(?:\s|$)/

/**
 * Makes this process connect directly, even with `NODE_USE_ENV_PROXY`: the command line calls only the mesh, and no
 * proxy should see these calls. Programs that this process starts get the environment unchanged.
 */
export function connectDirectly({ env, execArgv }: Pick<NodeJS.Process, 'env' | 'execArgv'>): void {
  const { NODE_USE_ENV_PROXY: useProxy, NODE_OPTIONS: options = '' } = env
  if (useProxy === undefined && !switches.test([options, ...execArgv].join(' '))) return
  // This proxy is never used, because `*` exempts every host.
  const nowhere = 'http://127.0.0.1:9'
  setGlobalProxyFromEnv({ http_proxy: nowhere, https_proxy: nowhere, no_proxy: '*' })
}
