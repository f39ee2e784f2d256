import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import process from 'node:process'

/** Below the ephemeral ports of Linux (32768 and up), so that no outgoing connection takes the port meanwhile. */
const first = 20_000
const last = 32_000

/**
 * Returns a port that is free on every address of this machine and reserved for this process: other calls, in any
 * test process, get other ports. Held until the process ends.
 */
export async function heldPort(): Promise<number> {
  // Each process starts its search at a different port, which saves most of the tries.
  const begin = (process.pid * 13) % (last - first)
  for (let step = 0; step < last - first; step += 1) {
    const port = first + ((begin + step) % (last - first))
    const claim = await listening({ path: `\0flotilla-test-port-${port}` })
    if (claim === null) continue
    const tried = await listening({ port })
    tried?.close()
    if (tried !== null) {
      await once(tried, 'close')
      claim.unref()
      return port
    }
    claim.close()
  }
  throw new Error(`no port from ${first} to ${last} is free`)
}

/** Returns a server that listens at the port; null where another one listens already. */
async function listening(
  place: { readonly path: string } | { readonly port: number },
): Promise<Server | null> {
  const server = createServer()
  server.listen(place)
  try {
    await once(server, 'listening')
    return server
  } catch {
    return null
  }
}
