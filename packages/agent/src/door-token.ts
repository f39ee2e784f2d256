import { closeSync, constants, mkdirSync, openSync, readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Where the agent keeps its own state, below the data directory. Not for its programs or its model. */
export const stateFolder = '.flotilla'

/**
 * Takes the one-time door token: reads the file and unlinks it at once, so that nothing which starts later can
 * read it. Throws an Error with the path when there is none.
 */
export function takeDoorToken(dataDirectory: string): string {
  const folder = join(dataDirectory, stateFolder)
  const path = join(folder, 'door-token')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  let token: string
  try {
    const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      token = readFileSync(descriptor, 'utf8').trim()
    } finally {
      closeSync(descriptor)
    }
    unlinkSync(path)
  } catch (cause) {
    throw new Error(`The agent cannot start: the door token in ${path} cannot be taken.`, { cause })
  }
  if (token === '') throw new Error(`The agent cannot start: the door token in ${path} is empty.`)
  return token
}
