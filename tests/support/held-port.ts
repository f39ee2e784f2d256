import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import process from 'node:process'

/** Below those that Linux gives to connections that begin (32768 and up), so that none of them takes it meanwhile. */
const first = 20_000
const last = 32_000

/**
 * A port that is free on every address of this machine, and stays this process's to give to a program: another
 * call, in any test process, gets another one. Held until the process ends.
 */
export async function heldPort(): Promise<number> {
  // Each process begins at a place of its own, which spares most of the looking.
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

/** A server there; null where something listens already. */
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
