import { readFile } from 'node:fs/promises'
import type { MeantHome } from '@flotilla/client/mesh-call'
import { CommandFailed } from '../command-failed.ts'
import type { Environment } from '../environment.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Place } from './locate-mesh.ts'
import { homeIdPath } from './mesh-paths.ts'

/**
 * The home that a command means, so that a mesh of another home on the same port rejects it. Undefined if
 * nothing determines it: an address alone (`--url`), or a port while the default home does not exist. Rejects
 * with CommandFailed (exit code 3) for a named home that was never started, because a mesh that answers
 * belongs to another home.
 */
export async function meantHome(place: Place, environment: Environment): Promise<MeantHome | undefined> {
  const elsewhere = (place.url ?? environment.url) !== undefined
  if (elsewhere && !place.homeOnLine) return undefined
  const id = await readFile(homeIdPath(place.home), 'utf8').then(
    (text) => text.trim(),
    () => '',
  )
  if (id !== '') return { id, folder: place.home }
  if (!place.homeOnLine && !environment.homeNamed) return undefined
  throw new CommandFailed('mesh-not-running', {
    detail: `No fleet yet in ${place.home}: it has never been started, or you may not read it.`,
    repair: 'Run: flotilla init. If a mesh runs for another home, name that home: --home HOME.',
    exitCode: exitCodes.meshNotRunning,
  })
}
