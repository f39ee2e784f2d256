import type { MeshClient } from '@flotilla/client/mesh-client'
import type { Clock } from '@flotilla/protocol/clock'

/** A start that takes less time is not asked about. */
const askEveryMs = 2000

/**
 * Asks the mesh what the start of an agent waits for, until `signal` aborts. Errors end it without a message: the
 * stream of the answer reports a mesh that is gone.
 */
export async function watchStart(
  { client, clock }: { readonly client: MeshClient; readonly clock: Clock },
  agentId: string,
  { signal, onWait }: { readonly signal: AbortSignal; readonly onWait: (reason: string | null) => void },
): Promise<void> {
  try {
    while (!signal.aborted) {
      await clock.sleep(askEveryMs, signal)
      const { agents } = await client.call('status', { signal })
      onWait(agents.find(({ id }) => id === agentId)?.waits_for ?? null)
    }
  } catch {
    onWait(null)
  }
}
