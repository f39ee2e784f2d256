import { isIP } from 'node:net'
import type { LookupAddress } from 'node:dns'
import { agentShare } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { createOpenPlaces } from '../../intake/index.ts'

/**
 * All addresses of a name: those of the hosts file, or else what the name servers say for both families. Rejects where
 * either answer is a failure; a family that the name merely lacks is none.
 *
 * The system's own look-up is not used, since it holds one of the four threads that files and compression share: a few
 * names with dead servers would stop the whole mesh. These questions are datagrams on the event loop.
 */
export type ResolveName = (
  name: string,
  signal: AbortSignal,
  /** In whose name; each has a share of the look-ups. */
  asker?: string,
) => Promise<readonly LookupAddress[]>

/** One look-up's connection to the name servers; `dns.promises.Resolver` in earnest. */
export interface NameServers {
  resolve4(name: string): Promise<readonly string[]>
  resolve6(name: string): Promise<readonly string[]>
  cancel(): void
}

export interface ResolveNameDeps {
  readonly readHosts: () => Promise<string>
  /** A fresh one per look-up, so that a change of the machine's name servers counts at once. */
  readonly openServers: () => NameServers
}

/** What lasts longer has no answer, ms: both families are asked at once, each server twice. */
export const serverTimeoutMs = 2500
export const serverTries = 2

const localName = /(?:^|\.)localhost$/

export function createResolveName(deps: ResolveNameDeps): ResolveName {
  // The dead names of one agent must not use up the places of the others.
  const places = createOpenPlaces(agentShare.lookups)

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

  return async (name, signal, asker = '') => {
    const known = addressesInHosts(await deps.readHosts(), name)
    if (known.length > 0) return known
    // RFC 6761: no name server is ever asked for this machine.
    if (localName.test(name)) return [{ address: '127.0.0.1', family: 4 }]
    signal.throwIfAborted()
    const leave = places.enter(asker)
    if (typeof leave === 'string') {
      const { perAgentMax } = agentShare.lookups
      throw new Problem('rate-limited', {
        detail:
          leave === 'agent'
            ? `at most ${perAgentMax} names are looked up at once for one agent`
            : 'other agents look up so many names that there is no room for more of this one',
        retryAfterSeconds: 1,
      })
    }
    return ask(name, signal).finally(leave)
  }
}

/** Codes that say: the name is there, and has no address of this family; or it is not there at all. */
const absent: readonly unknown[] = ['ENODATA', 'ENOTFOUND']

async function answered(answer: Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Error && 'code' in error && absent.includes(error.code)) return []
    throw error
  }
}

/** Addresses that a hosts file gives a name, in the file's order. A zone is left out with its line. Pure. */
function addressesInHosts(text: string, name: string): readonly LookupAddress[] {
  const wanted = name.toLowerCase()
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = (line.split('#', 1)[0] ?? '').trim().split(/\s+/)
    const family = address.includes('%') ? 0 : isIP(address)
    return family !== 0 && names.some((other) => other.toLowerCase() === wanted) ? [{ address, family }] : []
  })
}
