import type { IncomingMessage } from 'node:http'
import { Problem } from '@flotilla/protocol/problem'
import type { MeshCall, MeshHttp, RunTicket } from './mesh-http.ts'

const takenOverCodes: ReadonlySet<string> = new Set(['stale-fence', 'unauthenticated'])

export type RunMeshCall = Omit<MeshCall, 'ticket'>

/** The mesh client of one run: every call carries the run and its fencing token (ledger invariant R3). */
export interface RunMesh {
  call(call: RunMeshCall): Promise<unknown>
  open(call: RunMeshCall): Promise<IncomingMessage>
  /** Aborted when the run is over, for work that continues after a tool's answer. */
  readonly ended?: AbortSignal
}

/**
 * `onTakenOver` is called when the mesh rejects our fencing token as stale, or the token of this process, as it does
 * once it has started the agent anew: this attempt must stop, because another one continues the run. An outcome that it
 * stored would end the run as failed when the next process of the agent is asked for it.
 */
export function createRunMesh(
  mesh: MeshHttp,
  ticket: RunTicket & { readonly ended?: AbortSignal },
  onTakenOver: () => void,
): RunMesh {
  const { ended, ...run } = ticket
  const watch = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer
    } catch (error) {
      if (error instanceof Problem && takenOverCodes.has(error.code)) onTakenOver()
      throw error
    }
  }
  return {
    call: (call) => watch(mesh.call({ ...call, ticket: run })),
    open: (call) => watch(mesh.open({ ...call, ticket: run })),
    ...(ended === undefined ? {} : { ended }),
  }
}
