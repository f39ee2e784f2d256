import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { MeantHome } from '@flotilla/client/mesh-call'
import { CommandFailed } from '../command-failed.ts'
import type { Environment } from '../environment.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Place } from './locate-mesh.ts'

/**
 * The home that a command means, so that a mesh of another home on the same port rejects it. Undefined if
 * nothing determines it: an address alone (`--url`), or a port while the default home does not exist. Rejects
 * with CommandFailed (exit code 3) for a named home that was never started, because a mesh that answers
 * belongs to another home.
 */
export async function meantHome(place: Place, environment: Environment): Promise<MeantHome | undefined> {
  const elsewhere = (place.url ?? environment.url) !== undefined
  if (elsewhere && !place.homeOnLine) return undefined
  const id = await readFile(join(place.home, 'data', 'home-id'), 'utf8').then(
    (text) => text.trim(),
    () => '',
  )
  if (id !== '') return { id, folder: place.home }
  if (!place.homeOnLine && !environment.homeNamed) return undefined
  throw new CommandFailed('mesh-not-running', {
    detail: `${place.home} has never been started, or you may not read it: the mesh that answers belongs to another home.`,
    repair: 'Name the home of that mesh with --home, or start this one with: flotilla start -d',
    exitCode: exitCodes.meshNotRunning,
  })
}
