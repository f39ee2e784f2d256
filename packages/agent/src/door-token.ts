import { closeSync, constants, mkdirSync, openSync, readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { doorTokenFile, linkKeyFile } from '@flotilla/protocol/agent-link'

/** Where the agent keeps its own state, below the data directory. Not for its programs or its model. */
export const stateFolder = '.flotilla'

/**
 * Takes the one-time door token from `once`: from the briefing, which only the mesh can write in a container, where the
 * mesh takes the file away once the agent answers, before any run reaches it; elsewhere it is unlinked here. Throws an
 * Error with the path when there is none.
 */
export function takeDoorToken(directories: { readonly once: string; readonly data: string }): string {
  mkdirSync(join(directories.data, stateFolder), { recursive: true, mode: 0o700 })
  return takeFile(join(directories.once, doorTokenFile), 'door token')
}

/** The key of the lines to a mesh on another machine, in the same way. */
export function takeLinkKey(directories: { readonly once: string }): Uint8Array {
  return Buffer.from(takeFile(join(directories.once, linkKeyFile), 'key of its lines'), 'base64url')
}

function takeFile(path: string, what: string): string {
  let text: string
  try {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      text = readFileSync(descriptor, 'utf8').trim()
    } finally {
      closeSync(descriptor)
    }
  } catch (cause) {
    throw new Error(`The agent cannot start: the ${what} in ${path} cannot be taken.`, { cause })
  }
  if (text === '') throw new Error(`The agent cannot start: the ${what} in ${path} is empty.`)
  try {
    unlinkSync(path)
  } catch {
    // A read-only mount: the mesh does it.
  }
  return text
}
