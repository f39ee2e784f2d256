import type { IncomingMessage } from 'node:http'
import { Problem } from '@flotilla/protocol/problem'
import type { MeshCall, MeshHttp, RunTicket } from './mesh-http.ts'

export type RunMeshCall = Omit<MeshCall, 'ticket'>

/** The mesh client of one run: every call carries the run and its fencing token (ledger invariant R3). */
export interface RunMesh {
  call(call: RunMeshCall): Promise<unknown>
  open(call: RunMeshCall): Promise<IncomingMessage>
  /** Aborted when the run is over, for work that continues after a tool's answer. */
  readonly ended?: AbortSignal
}

/** `onTakenOver` is called once when the mesh rejects our fencing token as stale: this attempt must stop. */
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
      if (error instanceof Problem && error.code === 'stale-fence') onTakenOver()
      throw error
    }
  }
  return {
    call: (call) => watch(mesh.call({ ...call, ticket: run })),
    open: (call) => watch(mesh.open({ ...call, ticket: run })),
    ...(ended === undefined ? {} : { ended }),
  }
}
