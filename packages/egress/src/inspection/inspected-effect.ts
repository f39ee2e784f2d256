import { decidedRequest, plainHost } from '@flotilla/identity/policy'
import type { EffectDetails } from '@flotilla/identity/policy'

/** The effect of a program's request to an inspected host, as the policy decides it. Pure. */
export function inspectedEffect(
  request: {
    readonly host: string
    readonly method: string
    readonly path: string
    /** Names and values in turn. */
    readonly headers: readonly string[]
  },
  credentials: readonly string[],
): EffectDetails {
  // The path as it is sent: a URL parser would resolve dots and read a second slash as a host.
  const [path = '/', ...queries] = request.path.split('?')
  return {
    tool: 'connect',
    ...decidedRequest({ method: request.method, path, query: queries.join('?') }, request.headers),
    host: plainHost(request.host),
    credentials,
  }
}
