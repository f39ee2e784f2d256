import { existsSync } from 'node:fs'
import { CommandFailed } from '../command-failed.ts'
import type { Environment } from '../environment.ts'
import { exitCodes } from '../exit-codes.ts'
import { readMeshFile } from './mesh-file.ts'
import { homeIdPath, meshLogPath } from './mesh-paths.ts'
import { askSupervisor } from './supervisor-socket.ts'
import type { SupervisorState } from './supervisor-socket.ts'
import { serviceCommand, serviceLog, serviceOf } from './systemd-control.ts'
import type { ServiceState } from './systemd-control.ts'

export interface Place {
  readonly home: string
  /** True if the home was named on the command line. */
  readonly homeOnLine: boolean
  readonly port?: number | undefined
  readonly url?: string | undefined
}

/**
 * The address of the mesh that commands use: `--url`, else `--port`, else the address in the home's mesh
 * file. Rejects with CommandFailed (exit code 3) if the home has no running mesh and no address was given, and with a
 * port too if a supervisor or systemd starts the mesh of the home: a mesh that answered there would belong to another
 * home.
 */
export async function locateMesh(place: Place, environment: Environment): Promise<string> {
  const url = place.url ?? environment.url
  if (url !== undefined) return url
  const port = place.port ?? environment.port
  const atPort = port === undefined ? undefined : `http://127.0.0.1:${port}`
  const found = await readMeshFile(place.home)
  if (found?.alive === true) return atPort ?? found.mesh.url
  const supervisor = await askSupervisor(place.home)
  if (supervisor !== null) throw betweenStarts(place.home, supervisor)
  const service = await serviceOf(place.home)
  if (service !== null && (service.active !== 'inactive' || service.pid !== 0)) {
    throw keptBySystemd(place.home, service)
  }
  if (atPort !== undefined) return atPort
  if (found === null && !existsSync(homeIdPath(place.home))) throw noFleetYet(place.home)
  throw new CommandFailed('mesh-not-running', {
    detail:
      found === null
        ? `No mesh runs in ${place.home}.`
        : `The mesh of ${place.home} (process ${found.mesh.pid}) has crashed; its runs continue at the next start.`,
    repair:
      found === null
        ? `Start it with: ${environment.command} start -d`
        : `Start it with: ${environment.command} start -d (see the end of its log: ${meshLogPath(place.home)})`,
    exitCode: exitCodes.meshNotRunning,
  })
}

/** The error for a home that no mesh has used yet. */
function noFleetYet(home: string): CommandFailed {
  return new CommandFailed('mesh-not-running', {
    detail: `No fleet yet in ${home}.`,
    repair: 'Run: flotilla init',
    exitCode: exitCodes.meshNotRunning,
  })
}

function betweenStarts(home: string, { pid, restarts, last_exit: lastExit }: SupervisorState): CommandFailed {
  return new CommandFailed('mesh-not-running', {
    detail: `The mesh of ${home} is not running: ${lastExit === null ? 'it is being started' : `it ended (${lastExit})`}. Its supervisor (process ${pid}) has restarted it ${restarts} times and keeps trying.`,
    repair: `Try again soon, or end it with flotilla stop (see the end of its log: ${meshLogPath(home)}).`,
    exitCode: exitCodes.meshNotRunning,
  })
}

/** Returns the error for a mesh that systemd runs but that does not answer yet, or does not answer any more. */
function keptBySystemd(home: string, { active, sub, restarts, exitStatus }: ServiceState): CommandFailed {
  const state = `${active}${sub === '' || sub === active ? '' : `, ${sub}`}`
  const ended = exitStatus === 0 ? '' : ` Its last process ended with ${exitStatus}.`
  const next =
    active === 'failed' ? 'systemd does not start it again.' : 'systemd starts it, and keeps trying.'
  return new CommandFailed('mesh-not-running', {
    detail: `The mesh of ${home} does not answer; its service is ${state}, restarted ${restarts} times.${ended} ${next}`,
    repair:
      active === 'failed'
        ? `Read its log: ${serviceLog()}. Then start it with: flotilla start -d`
        : `Try again soon, or end it with: ${serviceCommand('stop')}`,
    exitCode: exitCodes.meshNotRunning,
  })
}
