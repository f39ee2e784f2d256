import { readMeshFile } from './mesh-file.ts'
import { askSupervisor } from './supervisor-socket.ts'
import { serviceState } from './systemd-control.ts'

/** What restarts the mesh of a home when it ends by itself. */
export interface Supervision {
  readonly by: 'flotilla' | 'systemd'
  /** Null for systemd. */
  readonly pid: number | null
  readonly restarts: number
  /** How the mesh ended last, as text; null if it has not ended. */
  readonly last_exit: string | null
  readonly last_exit_at: number | null
}

/** Null without a supervisor, or if the mesh that answered (`meshPid`) is not the one of this machine and home. */
export async function supervisionOf(home: string, meshPid: number): Promise<Supervision | null> {
  const supervisor = await askSupervisor(home)
  if (supervisor?.mesh_pid === meshPid) {
    const { pid, restarts, last_exit, last_exit_at } = supervisor
    return { by: 'flotilla', pid, restarts, last_exit, last_exit_at }
  }
  const service = await serviceState()
  if (service?.pid !== meshPid) return null
  return { by: 'systemd', pid: null, restarts: service.restarts, last_exit: null, last_exit_at: null }
}

/** Whether the mesh that answered is the one of this home on this machine. */
export async function isMeshOf(home: string, meshPid: number): Promise<boolean> {
  return (await readMeshFile(home))?.mesh.pid === meshPid
}
