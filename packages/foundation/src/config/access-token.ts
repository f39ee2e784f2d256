import { existsSync, readFileSync } from 'node:fs'
import { accessTokenPath, hostedMarkerPath } from '@flotilla/protocol/hosted'

/**
 * Reads the hosted front end's token. Null on a self-hosted machine. Empty if a token is required but missing: the
 * file is empty or unreadable, or the machine is marked as hosted without one. An empty token authenticates no one.
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
