import type { Clock } from '@flotilla/protocol/clock'
import { CommandFailed } from '../command-failed.ts'
import { isMeshProcess, readMeshFile } from './mesh-file.ts'
import { askSupervisor, isSupervisor } from './supervisor-socket.ts'

/** The time limit for a mesh to end: it stops its agents in parallel, each within its grace periods. */
const endsWithinMs = 60_000
const askEveryMs = 100

/** The process to stop for a home: its supervisor if it has one, which would otherwise restart the mesh. */
export interface MeshToStop {
  readonly pid: number
  /** Process id of the mesh itself: killing a supervisor leaves the mesh running. */
  readonly meshPid: number
  readonly isAlive: (pid: number) => Promise<boolean>
}

/** Returns the process to stop; null if neither a mesh nor a supervisor runs for the home. */
export async function meshToStop(home: string): Promise<MeshToStop | null> {
  const supervisor = await askSupervisor(home)
  if (supervisor !== null) {
    const { pid, mesh_pid: meshPid } = supervisor
    return { pid, meshPid: meshPid === 0 ? pid : meshPid, isAlive: isSupervisor }
  }
  const found = await readMeshFile(home)
  if (found?.alive !== true) return null
  const { pid } = found.mesh
  return { pid, meshPid: pid, isAlive: isMeshProcess }
}

/** Asks a mesh to end and waits until it has. Rejects with CommandFailed when it does not in 60 s. */
export async function stopMeshProcess(
  { pid, meshPid, isAlive }: MeshToStop,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
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
  while (await isAlive(pid)) {
    if (clock.now() > end) {
      throw new CommandFailed('stop-timed-out', {
        detail: `The mesh (process ${meshPid}) has not ended after ${endsWithinMs / 1000} s.`,
        repair: `Read flotilla logs to see what the mesh waits for, or end it with kill -9 ${meshPid}, which loses nothing: the next start adopts its containers.`,
      })
    }
    await clock.sleep(askEveryMs, signal)
  }
}
