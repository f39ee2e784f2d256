import type { ConnectProxy } from '../egress/index.ts'
import type { BrowserContainers } from '../sandbox/index.ts'

/**
 * Opens the one way out for browsers, where their network is: with the first of them, since neither network nor image is
 * there before. Whoever comes meanwhile waits for the same; what failed is tried again by the next.
 */
export function createBrowserProxyOpener(deps: {
  readonly containers: BrowserContainers
  readonly proxy: Pick<ConnectProxy, 'listen' | 'port'>
  readonly stopped: AbortSignal
  /** Hears the port, which is one of the mesh's. */
  readonly onOpen: (port: number) => void
}): () => Promise<{ readonly port: number }> {
  let opening: Promise<{ readonly port: number }> | null = null

  async function open() {
    await deps.containers.prepare(deps.stopped)
    await deps.proxy.listen(deps.containers.proxyPlace())
    const port = deps.proxy.port()
    deps.onOpen(port)
    return { port }
  }

  return () => {
    opening ??= open().catch((error: unknown) => {
      opening = null
      throw error
    })
    return opening
  }
}
