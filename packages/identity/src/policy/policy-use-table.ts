import { jsonColumn } from '@flotilla/foundation/storage'
import type { Database } from '@flotilla/foundation/storage'
import * as z from 'zod'
import { verdicts } from './effect.ts'
import type { EffectDetails } from './effect.ts'
import { policyLimits } from './policy-schema.ts'

/** How many effects of one agent are kept, the latest. */
const stopsOfAgentMax = 200
/** How many rules have counts, those that decided last: more than a file can have, because rules are renamed. */
const countedRulesMax = 2 * policyLimits.rulesMax
/** How many effects of all agents are kept. */
const stopsMax = 20_000

const effectSchema = z.strictObject({
  tool: z.string(),
  method: z.string().nullable().optional(),
  host: z.string().optional(),
  path: z.string().nullable().optional(),
  mcpServer: z.string().optional(),
  mcpTool: z.string().nullable().optional(),
  chain: z.string().optional(),
  credentials: z.array(z.string()).optional(),
  origins: z.array(z.string()).optional(),
})

export interface RuleHits {
  readonly hits: number
  readonly lastAt: number
}

/** An effect that a rule asked for or denied, as often as it happened. */
export interface PolicyStop {
  readonly agentId: string
  readonly rule: string
  readonly verdict: 'allow' | 'ask' | 'deny'
  readonly effect: EffectDetails
  /** The kinds of origin of the work; null if they are not known, as in rows of earlier releases. */
  readonly origins: readonly string[] | null
  readonly count: number
  readonly lastAt: number
}

const hitsSchema = z.object({ rule: z.string(), hits: z.number(), last_at: z.number() })
const stopSchema = z
  .object({
    agent_id: z.string(),
    rule: z.string(),
    verdict: z.enum(verdicts),
    effect: jsonColumn(effectSchema),
    count: z.number(),
    last_at: z.number(),
  })
  .transform(
    ({ agent_id: agentId, last_at: lastAt, effect: { origins = null, ...effect }, ...stop }): PolicyStop => ({
      agentId,
      lastAt,
      origins,
      // The members that are absent were never written as undefined.
      effect: effect as EffectDetails,
      ...stop,
    }),
  )

/** Reads and writes the counts of the policy's use. */
export function createPolicyUseTable(database: Database) {
  return {
    addHits: (rule: string, { hits, lastAt }: RuleHits): void => {
      database
        .prepare(
          `INSERT INTO policy_hits (rule, hits, last_at) VALUES (?, ?, ?)
           ON CONFLICT (rule) DO UPDATE SET hits = hits + excluded.hits, last_at = excluded.last_at`,
        )
        .run(rule, hits, lastAt)
    },
    addStop: (stop: PolicyStop): void => {
      const effect = stop.origins === null ? stop.effect : { ...stop.effect, origins: stop.origins }
      database
        .prepare(
          `INSERT INTO policy_stops (agent_id, rule, verdict, effect, count, last_at) VALUES (?, ?, ?, ?, ?, ?)
           ON CONFLICT (agent_id, rule, verdict, effect)
           DO UPDATE SET count = count + excluded.count, last_at = excluded.last_at`,
        )
        .run(stop.agentId, stop.rule, stop.verdict, JSON.stringify(effect), stop.count, stop.lastAt)
    },
    /** Deletes the counts of the rules that decided longest ago, above the limit. */
    trimHits: (): void => {
      database
        .prepare(
          `DELETE FROM policy_hits WHERE rule IN
             (SELECT rule FROM policy_hits ORDER BY last_at DESC, rule LIMIT -1 OFFSET ?)`,
        )
        .run(countedRulesMax)
    },
    /** Deletes the oldest rows of an agent, and of all, above the limits. */
    trim: (agentId: string): void => {
      database
        .prepare(
          `DELETE FROM policy_stops WHERE agent_id = ?1 AND rowid NOT IN
             (SELECT rowid FROM policy_stops WHERE agent_id = ?1 ORDER BY last_at DESC, rowid DESC LIMIT ?2)`,
        )
        .run(agentId, stopsOfAgentMax)
      database
        .prepare(
          'DELETE FROM policy_stops WHERE rowid IN (SELECT rowid FROM policy_stops ORDER BY last_at DESC LIMIT -1 OFFSET ?)',
        )
        .run(stopsMax)
    },
    hits: (): ReadonlyMap<string, RuleHits> =>
      new Map(
        database
          .prepare('SELECT rule, hits, last_at FROM policy_hits')
          .all()
          .map((row) => hitsSchema.parse(row))
          .map(({ rule, hits, last_at: lastAt }) => [rule, { hits, lastAt }]),
      ),
    stops: (of: {
      readonly agentId: string | null
      readonly since: number
      readonly limit: number
    }): readonly PolicyStop[] =>
      database
        .prepare(
          `SELECT agent_id, rule, verdict, effect, count, last_at FROM policy_stops
           WHERE (?1 IS NULL OR agent_id = ?1) AND last_at >= ?2 ORDER BY last_at DESC, rowid DESC LIMIT ?3`,
        )
        .all(of.agentId, of.since, of.limit)
        .map((row) => stopSchema.parse(row)),
    forget: (agentId: string): void => {
      database.prepare('DELETE FROM policy_stops WHERE agent_id = ?').run(agentId)
    },
  }
}
