import { readMeshFile } from './mesh-file.ts'
import { askSupervisor } from './supervisor-socket.ts'
import { serviceState } from './systemd-control.ts'

/** The process that restarts the mesh of a home when the mesh crashes: a supervisor of Flotilla, or systemd. */
export interface Supervision {
  readonly by: 'flotilla' | 'systemd'
  /** Null for systemd. */
  readonly pid: number | null
  readonly restarts: number
  /** How the mesh ended last, as text; null if it has not ended. */
  readonly last_exit: string | null
  readonly last_exit_at: number | null
}

/** Returns null if nothing supervises the mesh that answered (`meshPid`), such as a mesh of another machine. */
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
