import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'
import type { EffectDetails, PolicyDecision } from './effect.ts'
import { createPolicyUseTable } from './policy-use-table.ts'
import type { PolicyStop, RuleHits } from './policy-use-table.ts'

/** How long counts stay only in memory, in milliseconds. A killed mesh loses the counts of this time. */
const flushIntervalMs = 5000
/** How many different effects are counted between two flushes; further ones are counted with their rule only. */
const pendingStopsMax = 1000
/** The maximum length of one text of an effect that is kept, in characters. */
const textMaxChars = 300
/** How many credentials of an effect are kept. */
const credentialsMax = 20

/**
 * Counts how often each rule decided, and keeps the latest effects that were asked for or denied, so that the owner
 * sees what a rule does and what another one would change.
 */
export interface PolicyUse {
  /** `originsOf` gives the kinds of origin of the work, and is called for effects that are asked for or denied. */
  note(
    agentId: string,
    effect: { readonly details: EffectDetails; readonly originsOf?: () => readonly string[] | null },
    decision: PolicyDecision,
  ): void
  hits(): ReadonlyMap<string, RuleHits>
  /** The effects that were asked for or denied since a time, latest first; of one agent, or of all for null. */
  stops(of: {
    readonly agentId: string | null
    readonly since: number
    readonly limit: number
  }): readonly PolicyStop[]
  /** Writes the counts at each interval until the signal aborts, and then once more. */
  run(signal: AbortSignal): Promise<void>
  forget(agentId: string): void
}

export function createPolicyUse(deps: {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
}): PolicyUse {
  const table = createPolicyUseTable(deps.database)
  let hits = new Map<string, RuleHits>()
  let stops = new Map<string, PolicyStop>()

  function flush(): void {
    if (hits.size === 0 && stops.size === 0) return
    deps.database.transaction(() => {
      for (const [rule, one] of hits) table.addHits(rule, one)
      table.trimHits()
      for (const stop of stops.values()) table.addStop(stop)
      for (const agentId of new Set([...stops.values()].map((stop) => stop.agentId))) table.trim(agentId)
    })
    hits = new Map()
    stops = new Map()
  }

  return {
    note: (agentId, { details, originsOf = () => null }, { rule, verdict }) => {
      if (rule === null) return
      const lastAt = deps.clock.now()
      hits.set(rule, { hits: (hits.get(rule)?.hits ?? 0) + 1, lastAt })
      if (verdict === 'allow') return
      const effect = keptEffect(details)
      const origins = originsOf()
      const key = JSON.stringify([agentId, rule, verdict, effect, origins])
      const known = stops.get(key)
      if (known === undefined && stops.size >= pendingStopsMax) return
      stops.set(key, { agentId, rule, verdict, effect, origins, count: (known?.count ?? 0) + 1, lastAt })
    },
    hits: () => {
      flush()
      return table.hits()
    },
    stops: (of) => {
      flush()
      return table.stops(of)
    },
    run: async (signal) => {
      while (!signal.aborted) {
        await deps.clock.sleep(flushIntervalMs, signal).catch(() => {})
        try {
          flush()
        } catch (error) {
          deps.log.error({ err: error }, 'failed to write the use of the policy; retrying in the next round')
        }
      }
    },
    forget: (agentId) => {
      for (const [key, stop] of stops) if (stop.agentId === agentId) stops.delete(key)
      table.forget(agentId)
    },
  }
}

/** What is kept of an effect: no query, no amount, and texts of a bounded length. Pure. */
function keptEffect(details: EffectDetails): EffectDetails {
  const { tool, method, host, path, mcpServer, mcpTool, chain, credentials } = details
  const cut = (text: string | null | undefined) => text?.slice(0, textMaxChars) ?? text
  return Object.fromEntries(
    Object.entries({
      tool,
      method,
      host: cut(host),
      path: cut(path),
      mcpServer: cut(mcpServer),
      mcpTool: cut(mcpTool),
      chain: cut(chain),
      credentials: credentials?.slice(0, credentialsMax),
    }).filter(([, value]) => value !== undefined),
  ) as unknown as EffectDetails // Only absent members were left out.
}

/** True if a text of a kept effect has the maximum length, so that it may be the beginning of a longer one. Pure. */
export function mayBeCut({
  host,
  path,
  mcpServer,
  mcpTool,
  chain,
  credentials = [],
}: EffectDetails): boolean {
  const texts = [host, path, mcpServer, mcpTool, chain]
  return credentials.length >= credentialsMax || texts.some((text) => (text ?? '').length >= textMaxChars)
}
