import { Problem } from '@flotilla/protocol/problem'
import { nextHop } from './next-hop.ts'
import type { PinnedFetch, PinnedReply, PinnedRequest } from './pinned-fetch.ts'

/** The maximum number of redirects that one request of an agent follows. */
export const redirectsMax = 5 // limits:outbound-redirects

/**
 * Follows at most five redirects; each hop is resolved and checked like a first request. Throws what a hop throws,
 * and the problem `upstream-failed` for one redirect too many.
 */
export async function followRedirects(
  fetch: PinnedFetch,
  first: PinnedRequest,
  signal: AbortSignal,
): Promise<{ readonly reply: PinnedReply; readonly url: URL }> {
  let request = first
  for (let hops = 0; ; hops++) {
    const reply = await fetch(request, signal)
    const next = nextHop(request, reply.status, reply.headers['location'])
    if (next === null) return { reply, url: request.url }
    await reply.close()
    if (hops >= redirectsMax) {
      throw new Problem('upstream-failed', { detail: `more than ${redirectsMax} redirects` })
    }
    request = next
  }
}
