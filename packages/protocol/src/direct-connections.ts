/**
 * Matches Node's option that makes all connections use the proxies of the environment, in every spelling that Node
 * reads: with underscores, in quotes, with a value.
 */
const switches = /--use[-_]env[-_]proxy/

/** Returns whether Node uses the proxies of the environment for all connections. Pure. */
export function usesEnvironmentProxy({ env, execArgv }: Pick<NodeJS.Process, 'env' | 'execArgv'>): boolean {
  const { NODE_USE_ENV_PROXY: useProxy, NODE_OPTIONS: options = '' } = env
  return useProxy !== undefined || switches.test([options, ...execArgv].join(' '))
}

/**
 * Makes this process connect directly, even with `NODE_USE_ENV_PROXY`: the command line calls only the mesh, which
 * no proxy should see, and the mesh has rules of its own for proxies. Programs that this process starts get the
 * environment unchanged. `useProxy` is Node's `setGlobalProxyFromEnv`.
 */
export function connectDirectly(
  process: Pick<NodeJS.Process, 'env' | 'execArgv'>,
  useProxy: (proxies: Readonly<Record<string, string>>) => unknown,
): void {
  if (!usesEnvironmentProxy(process)) return
  // This proxy is never used, because `*` exempts every host.
  const nowhere = 'http://127.0.0.1:9'
  useProxy({ http_proxy: nowhere, https_proxy: nowhere, no_proxy: '*' })
}
