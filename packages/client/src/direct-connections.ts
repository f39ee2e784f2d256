import { setGlobalProxyFromEnv } from 'node:http'

/** Node takes the proxies of the environment for every connection only where one of these says so. */
const switches = /(?:^|\s)--use-env-proxy(?:\s|$)/

/**
 * Has this process connect directly, whatever `NODE_USE_ENV_PROXY` says: the calls of the command line are for the mesh alone,
 * and what they carry is for no proxy. Programs that it starts keep the environment as it is.
 */
export function connectDirectly({ env, execArgv }: Pick<NodeJS.Process, 'env' | 'execArgv'>): void {
  const { NODE_USE_ENV_PROXY: wanted, NODE_OPTIONS: options = '' } = env
  if (wanted === undefined && !switches.test([options, ...execArgv].join(' '))) return
  // An address that is never asked: `*` exempts every host.
  const nowhere = 'http://127.0.0.1:9'
  setGlobalProxyFromEnv({ http_proxy: nowhere, https_proxy: nowhere, no_proxy: '*' })
}
