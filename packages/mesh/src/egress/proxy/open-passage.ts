import type { LookupAddress } from 'node:dns'
import { Problem } from '@flotilla/protocol/problem'
import type { Guard } from '../../access/action.ts'
import type { CallRate } from '../../access/call-rate.ts'
import type { Destination } from '../policy/destination.ts'
import type { EgressCounts } from './egress-counts.ts'
import type { JudgeDestination } from '../policy/judge-destination.ts'
import type { Passage, Passages } from './passages.ts'
import type { ProxyIdentity } from './proxy-gate.ts'

/** A passage whose destination was judged: connect to these addresses and to no other. */
export interface JudgedPassage {
  readonly passage: Passage
  readonly addresses: readonly LookupAddress[]
}

/**
 * A program of an agent asks for a way out. The same permission, rate and filter as `http_request`. The caller closes
 * the passage. Throws `denied`, `rate-limited`, what the filter says, or the signal's reason.
 */
export type OpenPassage = (
  identity: ProxyIdentity,
  destination: Destination,
  signal: AbortSignal,
) => Promise<JudgedPassage>

export interface OpenPassageDeps {
  readonly guard: Guard
  readonly rate: Pick<CallRate, 'take'>
  readonly passages: Pick<Passages, 'reserve'>
  readonly counts: Pick<EgressCounts, 'refused'>
  /** The outbound filter as it stands for one agent. */
  readonly judgeFor: (agentId: string) => JudgeDestination
}

export function createOpenPassage(deps: OpenPassageDeps): OpenPassage {
  return async (identity, destination, signal) => {
    const { caller } = identity
    let passage: Passage | null = null
    try {
      deps.guard(caller, { do: 'call-api', api: 'http' })
      deps.rate.take(caller.agentId)
      passage = deps.passages.reserve(identity, destination)
      const judge = deps.judgeFor(caller.agentId)
      return {
        passage,
        addresses: await judge(destination, AbortSignal.any([signal, passage.signal])),
      }
    } catch (error) {
      passage?.close()
      const code = error instanceof Problem ? error.code : 'internal-error'
      deps.counts.refused(caller.agentId, destination.host, code)
      throw error
    }
  }
}
