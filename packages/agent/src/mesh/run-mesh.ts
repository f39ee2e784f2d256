import type { IncomingMessage } from 'node:http'
import { Problem } from '@flotilla/protocol/problem'
import type { MeshCall, MeshHttp, RunTicket } from './mesh-http.ts'

export type RunMeshCall = Omit<MeshCall, 'ticket'>

/** The mesh as one run sees it: every call carries the run and its fence (ledger invariant R3). */
export interface RunMesh {
  call(call: RunMeshCall): Promise<unknown>
  open(call: RunMeshCall): Promise<IncomingMessage>
}

/** `onTakenOver` hears once that the mesh calls our fence stale: this attempt must stop. */
export function createRunMesh(mesh: MeshHttp, ticket: RunTicket, onTakenOver: () => void): RunMesh {
  const watch = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer
    } catch (error) {
      if (error instanceof Problem && error.code === 'stale-fence') onTakenOver()
      throw error
    }
  }
  return {
    call: (call) => watch(mesh.call({ ...call, ticket })),
    open: (call) => watch(mesh.open({ ...call, ticket })),
  }
}
