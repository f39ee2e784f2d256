import { existsSync, readFileSync } from 'node:fs'
import { accessTokenPath, hostedMarkerPath } from '@flotilla/protocol/hosted'

/**
 * The hosted front end's token. Null on a self-hosted machine. Empty where a token must be and cannot be had: the file
 * is empty or cannot be read, or the machine is marked as hosted without one. An empty token opens nothing.
 */
export function readAccessToken(
  paths: { readonly token: string; readonly marker: string } = {
    token: accessTokenPath,
    marker: hostedMarkerPath,
  },
): string | null {
  if (!existsSync(paths.token)) return existsSync(paths.marker) ? '' : null
  try {
    return readFileSync(paths.token, 'utf8').trim()
  } catch {
    return ''
  }
}
