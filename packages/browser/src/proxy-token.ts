import { existsSync, readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { browserTokenFile } from '@flotilla/protocol/browser-service-api'

export interface ProxyToken {
  readonly value: string
  /** Whether its file is gone: Chromium has the same user, so none is launched before. */
  isGone(): boolean
}

/**
 * Takes the token with which this container authenticates at the proxy. Throws an Error with the path if it is missing.
 */
export function takeProxyToken(briefingDirectory: string): ProxyToken {
  const path = join(briefingDirectory, browserTokenFile)
  let value: string
  try {
    value = readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new Error(`The token in ${path} cannot be taken`, { cause })
  }
  if (!/^[\x21-\x7e]{16,512}$/.test(value)) throw new Error(`The token in ${path} is invalid`)
  try {
    unlinkSync(path)
  } catch {
    // A read-only mount: the mesh does it.
  }
  return { value, isGone: () => !existsSync(path) }
}
