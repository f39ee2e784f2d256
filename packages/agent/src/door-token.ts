import { closeSync, constants, mkdirSync, openSync, readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { doorTokenFile, linkKeyFile } from '@flotilla/protocol/agent-link'

/** Where the agent keeps its own state, below the data directory. Not meant for its programs or its model. */
export const stateFolder = '.flotilla'

/**
 * Takes the one-time agent token from `once`. In a container that is the mount of bootstrap files, which only
 * the mesh can write; the mesh deletes the file once the agent answers, before any run reaches it. Elsewhere
 * the file is unlinked here. Throws an Error with the path when there is no file.
 */
export function takeDoorToken(directories: { readonly once: string; readonly data: string }): string {
  mkdirSync(join(directories.data, stateFolder), { recursive: true, mode: 0o700 })
  return takeFile(join(directories.once, doorTokenFile), 'door token')
}

/** Takes the key of the connections to a mesh on another machine in the same way. */
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
    throw new Error(`The agent cannot start: the ${what} in ${path} cannot be read and deleted.`, { cause })
  }
  if (text === '') throw new Error(`The agent cannot start: the ${what} in ${path} is empty.`)
  try {
    unlinkSync(path)
  } catch {
    // On a read-only mount the mesh deletes the file.
  }
  return text
}
