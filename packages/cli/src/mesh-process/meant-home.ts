import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { MeantHome } from '@flotilla/client/mesh-call'
import { CommandFailed } from '../command-failed.ts'
import type { Environment } from '../environment.ts'
import { exitCodes } from '../exit-codes.ts'
import type { Place } from './locate-mesh.ts'

/**
 * The home that a command means, so that a mesh of another that answers on its port refuses. Undefined where nothing
 * says which it is: an address alone (`--url`), or a port where the usual home is not there. Rejects with CommandFailed
 * (exit code 3) for a home that was named and has never been started: whoever answers is another's.
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
