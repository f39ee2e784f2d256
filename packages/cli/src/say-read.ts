import type { MeshClient } from '@flotilla/client/mesh-client'
import type { RunView } from '@flotilla/protocol/run'

/** Nobody waits longer at the end of a command for a mesh that does not answer, milliseconds. */
const patienceMs = 2000

/**
 * Tells the mesh that the outcome stands on the screen. A mesh that does not hear it counts the outcome as not told, which
 * is seen and loses nothing; so nothing is said of it here.
 */
export async function sayRead(client: MeshClient, run: RunView): Promise<void> {
  const signal = AbortSignal.timeout(patienceMs)
  await client.call('runRead', { params: { id: run.id }, signal }).catch(() => undefined)
}
