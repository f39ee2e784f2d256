import { Problem } from '@flotilla/protocol/problem'
import type { PinnedRequest } from './pinned-fetch.ts'

/** Matches names of headers that may carry a secret. */
const keyLike = /auth|cookie|token|key|secret|session|credential|signature|passw|jwt/i

const redirects: readonly number[] = [301, 302, 303, 307, 308]

/**
 * Returns the request that a redirect asks for, or null if the reply is not a redirect. To another origin, headers
 * that may carry a secret or that a credential filled are dropped; 301, 302 and 303 turn into GET without a body.
 * Throws the problem `credential-refused` if the redirect would carry a credential along. Pure.
 */
export function nextHop(
  request: PinnedRequest,
  status: number,
  location: string | undefined,
): PinnedRequest | null {
  if (!redirects.includes(status) || location === undefined || !URL.canParse(location, request.url))
    return null
  const url = new URL(location, request.url)
  url.hash = ''
  const toGet = status <= 303 && request.method !== 'HEAD' && request.method !== 'GET'
  const stays = url.origin === request.url.origin
  const carried = request.carried ?? null
  if (!stays && carried !== null && (carried.isIn(url.href) || (carried.body && !toGet))) {
    throw new Problem('credential-refused', {
      detail: `${request.url.host} redirects to ${url.host}, which would send a credential to another host`,
    })
  }
  const kept = Object.entries(request.headers).filter(
    ([name]) =>
      (stays || !(keyLike.test(name) || carried?.headers.includes(name))) &&
      !(toGet && /^content-/i.test(name)),
  )
  return {
    url,
    method: toGet ? 'GET' : request.method,
    headers: Object.fromEntries(kept),
    body: toGet ? '' : request.body,
    carried: stays ? carried : null,
  }
}
