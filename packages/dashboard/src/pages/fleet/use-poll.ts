import { useMesh } from '../../data/use-mesh.ts'

/** No event tells of memory and processor. */
const everyMs = 4000

/** What agents take, as it is now. */
export function usePoll() {
  return useMesh('fleetUse', {}, { refetchInterval: everyMs })
}
