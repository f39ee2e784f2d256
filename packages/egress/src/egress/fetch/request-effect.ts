import type { Caller } from '@flotilla/identity/access'
import { plainHost } from '@flotilla/identity/policy'
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
 * The method and path that a rule decides about: null, which is hidden, if a header or the query may replace it at the
 * server. Some servers read `_` in names of headers as `-`. `headers` has names, or names and values in turn. A form in
 * the body may name a method as well; the decision is made before the body is read. Pure.
 */
export function decidedRequest(
  request: { readonly method: string; readonly path: string; readonly query: string },
  headers: readonly string[],
): { readonly method: string | null; readonly path: string | null } {
  const names = headers.map((name) => name.replaceAll('_', '-'))
  return {
    method:
      names.some((name) => methodHeader.test(name)) || namesMethod(request.query)
        ? null
        : request.method.toUpperCase(),
    path: names.some((name) => pathHeader.test(name)) ? null : request.path,
  }
}

const methodHeader = /^x-(?:http-)?(?:method|verb)(?:-override)?$/i

/** Frameworks take the method from a parameter of this name, or from one with the name of the header. */
function namesMethod(query: string): boolean {
  if (!/method|verb|%/i.test(query)) return false
  const names = [...new URLSearchParams(query.replaceAll(';', '&')).keys()]
  return names.some((name) => /^_method$/i.test(name) || methodHeader.test(name))
}
/** Servers behind a rewriting proxy take the path from these, such as those of IIS and of Symfony. */
const pathHeader = /^x-(?:original|rewrite|override)-(?:url|uri|path)$/i

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
