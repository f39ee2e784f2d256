import type { Clock } from '@flotilla/protocol/clock'
import { contextLimits } from '@flotilla/protocol/limits'
import type { StatedWindowView } from '@flotilla/protocol/models-api'
import { statedWindow } from '@flotilla/protocol/context-overflow'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import type { Log } from '@flotilla/foundation/platform'
import type { Database } from '@flotilla/foundation/storage'

/**
 * Prompt limits that providers stated in refusals to agents, shown to people. The mesh records a refusal as it passes
 * and shares it with no other agent. The text is untrusted and may repeat an agent's words, so each agent uses only
 * its own refusals, until they expire or a longer prompt is answered.
 */
export interface StatedWindows {
  /** Takes any error of a call and ignores all but refusals because of prompt length. Never throws. */
  refused(agentId: string, error: unknown): void
  answered(agentId: string, model: string, promptTokens: number): void
  /** Returns the stated windows of one model, by its full name, that have not expired. */
  of(model: string): readonly StatedWindowView[]
}

/** The maximum number of entries per agent, equal to the limit in the agent loop. Entries expire after an hour. */
const perAgentMax = 50

interface Heard {
  readonly agentId: string
  readonly model: string
  /** The window in tokens; null if the refusal named no limit. */
  readonly tokens: number | null
  readonly statedAt: number
}

export function createStatedWindows(deps: { database: Database; clock: Clock; log: Log }): StatedWindows {
  const { clock } = deps
  const table = createTable(deps.database)
  const windows = new Map<string, Heard>()
  const holds = ({ statedAt }: Heard): boolean => {
    const ageMs = clock.now() - statedAt
    return ageMs >= 0 && ageMs < contextLimits.learnedWindowMs
  }

  /** The value stays in memory; a failed write of the row must not affect the call. */
  function write(work: () => void): void {
    try {
      work()
    } catch (err) {
      deps.log.error(
        { err },
        'failed to store the context window stated by a provider; it is known until the mesh restarts',
      )
    }
  }

  function forget(one: Heard): void {
    windows.delete(keyOf(one.agentId, one.model))
    write(() => table.remove(one))
  }

  write(() => {
    for (const one of table.list()) {
      if (holds(one)) windows.set(keyOf(one.agentId, one.model), one)
      else table.remove(one)
    }
  })

  return {
    refused(agentId, error) {
      if (!(error instanceof Problem) || error.code !== 'prompt-too-long') return
      const model = error.extra['refused_by']
      if (typeof model !== 'string') return
      const tokens = statedWindow(error.detail)?.windowTokens ?? null
      const one = { agentId, model, tokens, statedAt: clock.now() }
      windows.delete(keyOf(agentId, model))
      windows.set(keyOf(agentId, model), one)
      write(() => table.put(one))
      const own = [...windows.values()].filter((other) => other.agentId === agentId)
      for (const [index, other] of own.entries()) {
        if (!holds(other) || index < own.length - perAgentMax) forget(other)
      }
    },
    answered(agentId, model, promptTokens) {
      const one = windows.get(keyOf(agentId, model))
      if (one && one.tokens !== null && promptTokens > one.tokens) forget(one)
    },
    of: (model) =>
      [...windows.values()]
        .filter((one) => one.model === model && holds(one))
        .map(({ agentId, tokens, statedAt }) => ({
          agent_id: agentId,
          tokens,
          until: statedAt + contextLimits.learnedWindowMs,
        })),
  }
}

function keyOf(agentId: string, model: string): string {
  return `${agentId} ${model}`
}

const rowSchema = z.object({
  agent_id: z.string(),
  model: z.string(),
  tokens: z.number().nullable(),
  stated_at: z.number(),
})

function createTable(database: Database) {
  return {
    list: (): readonly Heard[] =>
      database
        .prepare('SELECT agent_id, model, tokens, stated_at FROM stated_windows ORDER BY stated_at')
        .all()
        .map((row) => rowSchema.parse(row))
        .map((row) => ({
          agentId: row.agent_id,
          model: row.model,
          tokens: row.tokens,
          statedAt: row.stated_at,
        })),
    put: ({ agentId, model, tokens, statedAt }: Heard): void => {
      database
        .prepare(
          'INSERT INTO stated_windows (agent_id, model, tokens, stated_at) VALUES (?, ?, ?, ?) ON CONFLICT (agent_id, model) DO UPDATE SET tokens = excluded.tokens, stated_at = excluded.stated_at',
        )
        .run(agentId, model, tokens, statedAt)
    },
    remove: ({ agentId, model }: Heard): void => {
      database.prepare('DELETE FROM stated_windows WHERE agent_id = ? AND model = ?').run(agentId, model)
    },
  }
}
