import type { IncomingMessage } from 'node:http'
import { Problem } from '@flotilla/protocol/problem'
import type { MeshCall, MeshHttp, RunTicket } from './mesh-http.ts'

export type RunMeshCall = Omit<MeshCall, 'ticket'>

/** The mesh as one run sees it: every call carries the run and its fence (ledger invariant R3). */
export interface RunMesh {
  call(call: RunMeshCall): Promise<unknown>
  open(call: RunMeshCall): Promise<IncomingMessage>
  /** Aborted when the run is over, for work that goes on behind a tool's answer. */
  readonly ended?: AbortSignal
}

/** `onTakenOver` hears once that the mesh calls our fence stale: this attempt must stop. */
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
