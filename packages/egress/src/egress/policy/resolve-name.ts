import { isIP } from 'node:net'
import type { LookupAddress } from 'node:dns'
import { Problem } from '@flotilla/protocol/problem'
import { createOpenPlaces } from '@flotilla/foundation/intake'
import { agentShareLimits } from '@flotilla/foundation/intake'

/**
 * Resolves all addresses of a name: those in the hosts file, or the answers of the name servers for both families.
 * Rejects if either query fails; a family without addresses is no failure.
 * The system's `getaddrinfo` is not used, because it occupies one of the four threads that files and compression
 * share: a few names with dead servers would block the whole mesh. These queries are datagrams on the event loop.
 */
export type ResolveName = (
  name: string,
  signal: AbortSignal,
  /** The agent on whose behalf the name is resolved; each has a share of concurrent lookups. */
  requester?: string,
) => Promise<readonly LookupAddress[]>

/** The connection of one lookup to the name servers; `dns.promises.Resolver` outside of tests. */
export interface NameServers {
  resolve4(name: string): Promise<readonly string[]>
  resolve6(name: string): Promise<readonly string[]>
  cancel(): void
}

export interface ResolveNameDeps {
  readonly readHosts: () => Promise<string>
  /** Opens a new resolver for each lookup, so that changed name servers of the machine take effect at once. */
  readonly openServers: () => NameServers
}

/** Timeout of an answer in milliseconds; both families are queried at once, each server twice. */
export const serverTimeoutMs = 2500
export const serverTries = 2

const localName = /(?:^|\.)localhost$/

export function createResolveName(deps: ResolveNameDeps): ResolveName {
  // Limits the lookups of each agent, so that names without an answer do not delay the lookups of other agents.
  const places = createOpenPlaces(agentShareLimits.lookups)

  async function ask(name: string, signal: AbortSignal): Promise<readonly LookupAddress[]> {
    const servers = deps.openServers()
    const giveUp = () => servers.cancel()
    signal.addEventListener('abort', giveUp, { once: true })
    try {
      const [four, six] = await Promise.all([
        answered(servers.resolve4(name)),
        answered(servers.resolve6(name)),
      ])
      if (four.length + six.length === 0) throw new Error(`the name ${name} has no address`)
      return [
        ...four.map((address) => ({ address, family: 4 })),
        ...six.map((address) => ({ address, family: 6 })),
      ]
    } finally {
      signal.removeEventListener('abort', giveUp)
      servers.cancel()
    }
  }

  return async (name, signal, requester = '') => {
    const known = addressesInHosts(await deps.readHosts(), name)
    if (known.length > 0) return known
    // RFC 6761: localhost is never sent to a name server.
    if (localName.test(name)) return [{ address: '127.0.0.1', family: 4 }]
    signal.throwIfAborted()
    const leave = places.enter(requester)
    if (typeof leave === 'string') {
      const { perAgentMax } = agentShareLimits.lookups
      throw new Problem('rate-limited', {
        detail:
          leave === 'agent'
            ? `the agent already resolves ${perAgentMax} host names at once, the maximum for one agent`
            : 'the fleet already resolves the maximum number of host names at once',
        retryAfterSeconds: 1,
      })
    }
    return ask(name, signal).finally(leave)
  }
}

/** Error codes for a name that has no address of this family, or does not exist. */
const absent: readonly unknown[] = ['ENODATA', 'ENOTFOUND']

async function answered(answer: Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Error && 'code' in error && absent.includes(error.code)) return []
    throw error
  }
}

/** Returns the addresses of a name in a hosts file, in its order. Lines with a zone are ignored. Pure. */
function addressesInHosts(text: string, name: string): readonly LookupAddress[] {
  const searchedName = name.toLowerCase()
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = (line.split('#', 1)[0] ?? '').trim().split(/\s+/)
    const family = address.includes('%') ? 0 : isIP(address)
    return family !== 0 && names.some((other) => other.toLowerCase() === searchedName)
      ? [{ address, family }]
      : []
  })
}
