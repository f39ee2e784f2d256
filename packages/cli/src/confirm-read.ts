import type { MeshClient } from '@flotilla/client/mesh-client'
import type { RunView } from '@flotilla/protocol/run'

/** How long a command waits at its end for a mesh that does not answer, milliseconds. */
const patienceMs = 2000

/**
 * Confirms to the mesh that the outcome was printed. If the confirmation fails, the mesh counts the outcome as
 * undelivered and delivers it again, so nothing is lost and no error is shown.
 */
export async function confirmRead(client: MeshClient, run: RunView): Promise<void> {
  const signal = AbortSignal.timeout(patienceMs)
  await client.call('runRead', { params: { id: run.id }, signal }).catch(() => undefined)
}
