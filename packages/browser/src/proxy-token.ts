import { existsSync, readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { browserTokenFile } from '@flotilla/protocol/browser-service-api'

export interface ProxyToken {
  readonly value: string
  /** True if the token file is gone. Chromium runs as the same user, so it starts only after that. */
  isGone(): boolean
}

/**
 * Takes the token with which this container authenticates at the proxy. Throws an Error with the path if it is
 * missing.
 */
export function takeProxyToken(briefingDirectory: string): ProxyToken {
  const path = join(briefingDirectory, browserTokenFile)
  let value: string
  try {
    value = readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new Error(`The token in ${path} cannot be read and deleted`, { cause })
  }
  if (!/^[\x21-\x7e]{16,512}$/.test(value)) throw new Error(`The token in ${path} is invalid`)
  try {
    unlinkSync(path)
  } catch {
    // The mount is read-only, so the mesh deletes the file.
  }
  return { value, isGone: () => !existsSync(path) }
}
