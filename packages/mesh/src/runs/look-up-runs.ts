import { Problem } from '@flotilla/protocol/problem'
import type { RunView } from '@flotilla/protocol/run'
import type { Caller, Guard } from '../access/index.ts'
import type { RunQueries } from './ledger.ts'

/** For whoever may view the fleet. */
export interface LookUpRuns {
  /** Newest first. */
  list(
    caller: Caller,
    page: { readonly agent?: string | undefined; readonly limit: number },
  ): readonly RunView[]
  /** Problem `not-found`. */
  one(caller: Caller, runId: string): RunView
}

export function createLookUpRuns(deps: {
  readonly guard: Guard
  readonly queries: Pick<RunQueries, 'find' | 'list' | 'view'>
}): LookUpRuns {
  const { guard, queries } = deps
  return {
    list: (caller, { agent, limit }) => {
      guard(caller, { do: 'view-fleet' })
      const page = agent === undefined ? { limit } : { limit, agentId: agent }
      return queries.list(page).map(queries.view)
    },
    one: (caller, runId) => {
      guard(caller, { do: 'view-fleet' })
      const run = queries.find(runId)
      if (!run) throw new Problem('not-found', { detail: `there is no run ${runId}` })
      return queries.view(run)
    },
  }
}
