import type { Clock } from '@flotilla/protocol/clock'
import { askSupervisor } from './supervisor-socket.ts'

/** How long a start waits for the process id of the mesh that another supervisor is starting, in milliseconds. */
const otherMaxMs = 20_000
const pollMs = 50
/** After this many unanswered requests in a row, the supervisor counts as ended. */
const silentMax = 5

/**
 * Describes, for a second start, the mesh that another supervisor of the home is starting. The supervisor takes the
 * lock of the home before it starts its mesh, and on a busy machine some seconds pass in between.
 */
export async function alreadySupervised(home: string, clock: Clock) {
  const meshPid = await meshOfOther(home, clock)
  const mesh = meshPid === 0 ? 'a supervisor that restarts it' : `process ${meshPid}`
  return {
    code: 'mesh-already-runs',
    detail: `A mesh is already being started for ${home} by ${mesh}.`,
    repair: 'Use it, or end it with flotilla stop.',
  }
}

/** The process id of the mesh of the home's supervisor; 0 if it runs none. */
async function meshOfOther(home: string, clock: Clock): Promise<number> {
  const end = clock.now() + otherMaxMs
  for (let silent = 0; silent < silentMax && clock.now() < end;) {
    const state = await askSupervisor(home)
    if (state !== null && (state.mesh_pid !== 0 || state.last_exit !== null)) return state.mesh_pid
    silent = state === null ? silent + 1 : 0
    await clock.sleep(pollMs)
  }
  return 0
}
