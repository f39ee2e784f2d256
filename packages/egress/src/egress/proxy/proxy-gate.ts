import { Problem } from '@flotilla/protocol/problem'
import type { Caller, RunTicket } from '@flotilla/identity/access'

export type AgentCaller = Extract<Caller, { kind: 'agent' }>

export interface ProxyGateDeps {
  readonly verifyToken: (
    token: string,
  ) => { readonly agentId: string; readonly token: 'door' | 'program' } | null
  readonly liveRunOf: (agentId: string) => RunTicket | null
}

/** A client and its token. The token is stored to detect when it becomes invalid. A browser belongs to no run. */
export interface ProxyIdentity {
  readonly caller: AgentCaller
  readonly token: string
}

/**
 * Identifies a client of the forward proxy. The token determines the agent, whatever the user name is; it must be a
 * program's token, and is valid only while a run of the agent is live.
 */
export function createProxyGate(deps: ProxyGateDeps): ProxyGate {
  return (authorization, linkedAgent) => {
    const token = proxyToken(authorization)
    const holder = token === null ? null : deps.verifyToken(token)
    const isLinked = linkedAgent === null || linkedAgent === holder?.agentId
    if (token === null || holder === null || !isLinked) {
      throw new Problem('proxy-unauthenticated', {
        detail: 'the proxy requires the token of a running agent as the password',
      })
    }
    if (holder.token !== 'program') {
      throw new Problem('denied', {
        detail: 'the proxy accepts only the token of programs, which HTTP_PROXY contains',
      })
    }
    const run = deps.liveRunOf(holder.agentId)
    if (run === null) {
      throw new Problem('denied', {
        detail: 'the agent has no active run, so its programs may not send requests',
      })
    }
    return { caller: { kind: 'agent', agentId: holder.agentId, token: 'program', run }, token }
  }
}

/** `linkedAgent` is the agent whose key opened the connection; null if the connection needs no key. */
export type ProxyGate = (authorization: string | undefined, linkedAgent: string | null) => ProxyIdentity

/**
 * Identifies a client of the proxy that only browsers can reach. The token belongs to one browser and is valid while
 * that browser is open; tokens of agents and programs are not accepted.
 */
export function createBrowserGate(browserOf: (token: string) => string | null): ProxyGate {
  return (authorization) => {
    const token = proxyToken(authorization)
    const agentId = token === null ? null : browserOf(token)
    if (token === null || agentId === null) {
      throw new Problem('proxy-unauthenticated', {
        detail: 'the proxy requires the token of an open browser as the password',
      })
    }
    return { caller: { kind: 'agent', agentId, token: 'door', run: null }, token }
  }
}

/** Maximum length of a header that is decoded, characters. */
const headerMaxChars = 2048

/**
 * Returns the password of `Proxy-Authorization: Basic`, which is the token; the user name is ignored. Null if the
 * header is missing or different. Pure.
 */
function proxyToken(header: string | undefined): string | null {
  if (header === undefined || header.length > headerMaxChars) return null
  const encoded = /^Basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(header)?.[1]
  if (encoded === undefined) return null
  const [, token] = /^[^:]*:(.+)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? []
  return token ?? null
}
