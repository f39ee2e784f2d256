import { createPinnedFetch } from '../../egress/src/egress/fetch/pinned-fetch.ts'
import type { PinnedFetch } from '../../egress/src/egress/fetch/pinned-fetch.ts'

/** A fetch for tests in which every host name is a server on loopback with this port. */
export function loopbackFetch(port: number): PinnedFetch {
  return createPinnedFetch({
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    isAllowed: () => true,
    allowedPorts: [port],
  })
}
