import { useMesh } from '../../data/use-mesh.ts'

/** Polling interval: no event reports memory and processor use. */
const everyMs = 4000

/** Returns the present resource use of the agents. */
export function usePoll() {
  return useMesh('fleetUse', {}, { refetchInterval: everyMs })
}
