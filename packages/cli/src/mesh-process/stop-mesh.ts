import type { Clock } from '@flotilla/protocol/clock'
import { CommandFailed } from '../command-failed.ts'
import { isMeshProcess } from './mesh-file.ts'

/** The mesh stops its agents in this time, one grace period after the other in parallel. */
const endsWithinMs = 60_000
const askEveryMs = 100

/** Asks a mesh to end and waits until it has. Rejects with CommandFailed when it does not in 60 s. */
export async function stopMeshProcess(pid: number, clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    process.kill(pid, 'SIGTERM')
  } catch (error) {
    if (Reflect.get(Object(error), 'code') === 'ESRCH') return
    throw new CommandFailed('stop-not-permitted', {
      detail: `The mesh (process ${pid}) belongs to another user.`,
      repair: 'Run flotilla stop as the user who started it.',
    })
  }
  const end = clock.now() + endsWithinMs
  while (await isMeshProcess(pid)) {
    if (clock.now() > end) {
      throw new CommandFailed('stop-timed-out', {
        detail: `The mesh (process ${pid}) has not ended after ${endsWithinMs / 1000} s.`,
        repair: `Its log tells what it waits for. kill -9 ${pid} loses nothing: the next start adopts its containers.`,
      })
    }
    await clock.sleep(askEveryMs, signal)
  }
}
