import { closeSync, constants, mkdirSync, openSync, readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { doorTokenFile, linkKeyFile } from '@flotilla/protocol/agent-link'

/** The folder of the agent's own state in the data directory; programs and the model must not use it. */
export const stateFolder = '.flotilla'

/**
 * Takes the one-time agent token from `once`. In a container that folder is the mount of bootstrap files, which only
 * the mesh can write: the mesh deletes the file once the agent answers, before any run starts. Elsewhere this
 * function deletes the file. Throws an Error with the path when there is no file.
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
    // The mount is read-only for the agent, so the mesh deletes the file.
  }
  return text
}
