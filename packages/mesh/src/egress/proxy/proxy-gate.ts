import { Problem } from '@flotilla/protocol/problem'
import type { Caller, RunTicket } from '../../access/index.ts'

export type ProgramCaller = Extract<Caller, { kind: 'agent' }> & { readonly run: RunTicket }

export interface ProxyGateDeps {
  readonly verifyToken: (
    token: string,
  ) => { readonly agentId: string; readonly token: 'door' | 'program' } | null
  readonly liveRunOf: (agentId: string) => RunTicket | null
}

/** Who asks, and by which token; the token is kept to see when it dies. */
export interface ProxyIdentity {
  readonly caller: ProgramCaller
  readonly token: string
}

/**
 * Who is on the forward proxy. The token says which agent, whatever user name it comes with; it is that of a program,
 * and counts only while a run of the agent is live.
 */
export function createProxyGate(deps: ProxyGateDeps) {
  return (authorization: string | undefined): ProxyIdentity => {
    const token = proxyToken(authorization)
    const holder = token === null ? null : deps.verifyToken(token)
    if (token === null || holder === null) {
      throw new Problem('proxy-unauthenticated', { detail: 'send the token of a running agent as password' })
    }
    if (holder.token !== 'program') {
      throw new Problem('denied', { detail: 'the proxy is for programs, and takes their token alone' })
    }
    const run = deps.liveRunOf(holder.agentId)
    if (run === null) {
      throw new Problem('denied', {
        detail: 'no run of this agent is live, so nothing may leave in its name',
      })
    }
    return { caller: { kind: 'agent', agentId: holder.agentId, token: 'program', run }, token }
  }
}

export type ProxyGate = ReturnType<typeof createProxyGate>

/** Longer ones are not even decoded, characters. */
const headerMaxChars = 2048

/**
 * The password of `Proxy-Authorization: Basic`, which is the token; the user name is for the eye alone. Null where
 * nothing of the kind was sent. Pure.
 */
function proxyToken(header: string | undefined): string | null {
  if (header === undefined || header.length > headerMaxChars) return null
  const encoded = /^Basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(header)?.[1]
  if (encoded === undefined) return null
  const [, token] = /^[^:]*:(.+)$/s.exec(Buffer.from(encoded, 'base64').toString('utf8')) ?? []
  return token ?? null
}
