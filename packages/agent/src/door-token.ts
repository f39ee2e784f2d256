import { closeSync, constants, mkdirSync, openSync, readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Where the agent keeps its own state, below the data directory. Not for its programs or its model. */
export const stateFolder = '.flotilla'

/**
 * Takes the one-time door token from the briefing, which only the mesh can write in a container: there the mesh
 * takes the file away once the agent answers, before any run reaches it; elsewhere it is unlinked here. Throws an
 * Error with the path when there is none.
 */
export function takeDoorToken(directories: { readonly briefing: string; readonly data: string }): string {
  const path = join(directories.briefing, 'door-token')
  mkdirSync(join(directories.data, stateFolder), { recursive: true, mode: 0o700 })
  let token: string
  try {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      token = readFileSync(descriptor, 'utf8').trim()
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    throw new Error(`The agent cannot start: the door token in ${path} cannot be taken.`, { cause })
  }
  if (token === '') throw new Error(`The agent cannot start: the door token in ${path} is empty.`)
  try {
    unlinkSync(path)
  } catch {
    // A read-only mount: the mesh does it.
  }
  return token
}
