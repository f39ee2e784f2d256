import { noSuchRun } from '@flotilla/protocol/not-found'
import type { RunView } from '@flotilla/protocol/run'
import type { Caller, Guard } from '@flotilla/identity/access'
import type { RunQueries } from './ledger.ts'
import type { RunSearch } from './ledger/search-runs.ts'

/** Reads runs for callers that may view the fleet. */
export interface LookUpRuns {
  /** Searches runs, newest first. Problem `not-found` for an unknown `before`. */
  list(
    caller: Caller,
    page: Omit<RunSearch, 'agentId' | 'words'> & {
      readonly agent?: string | undefined
      readonly find?: string | undefined
    },
  ): { readonly runs: readonly RunView[]; readonly older: string | null }
  /** Returns the API view of one run. Problem `not-found`. */
  one(caller: Caller, runId: string): RunView
}

export function createLookUpRuns(deps: {
  readonly guard: Guard
  readonly queries: Pick<RunQueries, 'find' | 'search' | 'view'>
}): LookUpRuns {
  const { guard, queries } = deps
  return {
    list: (caller, { agent, find, ...page }) => {
      guard(caller, { do: 'view-fleet' })
      const { runs, older } = queries.search({ ...page, agentId: agent, words: find })
      return { runs: runs.map(queries.view), older }
    },
    one: (caller, runId) => {
      guard(caller, { do: 'view-fleet' })
      const run = queries.find(runId)
      if (!run) throw noSuchRun(runId)
      return queries.view(run)
    },
  }
}
