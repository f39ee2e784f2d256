import type { Clock } from '@flotilla/protocol/clock'
import type { ConnectProxy } from '@flotilla/egress/egress'
import { SandboxError } from '@flotilla/fleet/sandbox'
import type { BrowserContainers } from '@flotilla/fleet/sandbox'

/** How long a passed isolation test is valid, in milliseconds; agents' isolation is tested at this interval too. */
const believedMs = 10 * 60_000

interface Opened {
  readonly port: number
}

interface BrowserProxyOpener {
  /** Rejects with the `SandboxError` `browser-walls-open` if a browser's container can reach more than the proxy. */
  open(): Promise<Opened>
  /** Invalidates the result of the isolation test before it expires; the next `open` tests again. */
  doubt(): void
}

/**
 * Opens the egress proxy of browsers on their network. The proxy opens with the first browser, because
 * network and image do not exist before; then a test inside a container checks that the proxy is the
 * only egress. Concurrent callers share one attempt; after a failure the next caller tries again.
 */
export function createBrowserProxyOpener(deps: {
  readonly containers: Pick<BrowserContainers, 'prepare' | 'proxyPlace' | 'checkWalls'>
  readonly proxy: ConnectProxy
  readonly stopped: AbortSignal
  readonly clock: Clock
  /** Called with the proxy's port, which counts as one of the mesh's ports. */
  readonly onOpen: (port: number) => void
}): BrowserProxyOpener {
  const { containers, proxy, stopped } = deps
  let listensOn: string | null = null
  let believed: (Opened & { readonly until: number }) | null = null
  let trying: Promise<Opened> | null = null
  let doubts = 0

  async function listen(): Promise<void> {
    const place = containers.proxyPlace()
    if (listensOn === place.host) return
    // A re-created network may have another address, so the proxy is opened again.
    if (listensOn !== null) await proxy.close()
    listensOn = null
    await proxy.listen(place)
    listensOn = place.host
    deps.onOpen(proxy.port())
  }

  async function tryOnce(): Promise<Opened> {
    await containers.prepare(stopped)
    await listen()
    const fallen = (await containers.checkWalls(stopped)).filter(({ holds }) => !holds)
    if (fallen.length === 0) return { port: proxy.port() }
    const failures = fallen.map(({ id, detail }) => `${id} (${detail})`).join('; ')
    throw new SandboxError(
      'browser-walls-open',
      `browser-walls-open: the network filter of browsers does not work: ${failures}\nRepair: find the firewall rule of this machine that lets the traffic through. The next use of a browser installs the filter again and tests it.`,
    )
  }

  /** Repeats an isolation test that began before the last `doubt`, because its result is outdated. */
  async function untilBelieved(): Promise<Opened> {
    for (;;) {
      stopped.throwIfAborted()
      const began = doubts
      const opened = await tryOnce()
      if (began !== doubts) continue
      believed = { ...opened, until: deps.clock.now() + believedMs }
      return opened
    }
  }

  return {
    open: async () => {
      if (believed !== null && deps.clock.now() < believed.until) return believed
      trying ??= untilBelieved().finally(() => {
        trying = null
      })
      return trying
    },
    doubt: () => {
      doubts++
      believed = null
    },
  }
}
