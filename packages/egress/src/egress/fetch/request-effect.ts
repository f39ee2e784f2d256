import type { Caller } from '@flotilla/identity/access'
import { decidedRequest, plainHost } from '@flotilla/identity/policy'
import type { CheckEffect, EffectDetails } from '@flotilla/identity/policy'
import { addressOf, handleNames, namesInRequest } from '../../credentials/index.ts'
import type { HandledRequest } from '../../credentials/index.ts'
import type { PinnedFetch, PinnedRequest } from './pinned-fetch.ts'

/** Returns what a request of `http_request` would do, from its address with handles. Problem `bad-request`. Pure. */
export function requestEffect(request: HandledRequest & { readonly method: string }): EffectDetails {
  const at = effectAt(addressOf(request.url), request.method)
  return {
    tool: 'http_request',
    ...at,
    ...decidedRequest({ ...at, query: addressOf(request.url).search }, Object.keys(request.headers)),
    // A credential within the path is filled in later, so rules about the path cannot see all of it.
    ...(handleNames(request.url.split('?', 1)[0] ?? '').length === 0 ? {} : { path: null }),
    credentials: namesInRequest(request),
  }
}

/** The host, path and method of a request to this address. Pure. */
export function effectAt(url: URL, method: string): { method: string; host: string; path: string } {
  return { method: method.toUpperCase(), host: plainHost(url.hostname), path: url.pathname }
}

/** The first request, with the tool and the credentials that its redirects are decided with. */
export type PolicedRequest = PinnedRequest & {
  readonly tool: 'http_request' | 'fetch_media'
  readonly credentials: readonly string[]
}

/**
 * Returns the agent's fetch, which also asks the policy about each redirect: a rule about its target holds however the
 * agent gets there. The first request was decided before.
 */
export function policedFetch(
  deps: { readonly fetchFor: (agentId: string) => PinnedFetch; readonly checkEffect: CheckEffect },
  caller: Extract<Caller, { kind: 'agent' }>,
  first: PolicedRequest,
): PinnedFetch {
  const fetch = deps.fetchFor(caller.agentId)
  return async (request, signal) => {
    if (request !== first) {
      // A redirect within the origin keeps the headers, and with them the credentials.
      const credentials = request.url.origin === first.url.origin ? first.credentials : []
      const at = effectAt(request.url, request.method)
      const details = {
        tool: first.tool,
        ...at,
        ...decidedRequest({ ...at, query: request.url.search }, Object.keys(request.headers)),
        credentials,
      }
      deps.checkEffect.requireAllowed(caller, details, 'request the target of this redirect by itself')
    }
    return fetch(request, signal)
  }
}
