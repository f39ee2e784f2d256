import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import type { PastTurn } from './past-turns.ts'
import type { Turn } from './turn.ts'

/**
 * Joins the turns of the history with those that this page followed, each run once: the history's turn as soon as it has
 * the run from its question to its end, the followed one until then. Cost and times are those of the newest list of runs.
 * Pure.
 */
export function shownTurns(
  past: readonly PastTurn[],
  live: readonly Turn[],
  runs: readonly RunView[],
): readonly Turn[] {
  const followed = new Set(live.flatMap(({ runId }) => (runId === null ? [] : [runId])))
  const known = new Map(runs.map((run) => [run.id, run]))
  const replaces = ({ runId, isWhole, run }: PastTurn): boolean =>
    runId === null || !followed.has(runId) || (isWhole && run !== null && isTerminal(run.state))
  const before = past.filter(replaces)
  const replaced = new Set(before.map(({ runId }) => runId))
  // A turn whose stream broke knows no end; its run goes on, and the history has its answer then.
  const isOver = ({ state }: Turn): boolean => state === 'ended' || state === 'refused'
  const now = live.filter((turn) => turn.runId === null || !isOver(turn) || !replaced.has(turn.runId))
  return [
    ...before.filter(({ runId }) => runId === null || !now.some((turn) => turn.runId === runId)),
    ...now,
  ].map((turn) => {
    const run = turn.runId === null ? undefined : known.get(turn.runId)
    const isNewer = run !== undefined && run !== turn.run && isTerminal(run.state)
    return isNewer && turn.state === 'ended' ? { ...turn, run } : turn
  })
}

/** Returns the newest run that an agent began and that ended; empty without one. Pure. */
export function newestEnded(turns: readonly Turn[], runs: readonly RunView[]): string {
  const followed = turns.findLast(({ run }) => run !== null && run.started_at !== null)?.run
  const listed = runs.find(({ state, started_at: at }) => isTerminal(state) && at !== null)
  // The list lacks a run for a moment after its end; the page lacks the end of a run whose stream broke.
  const isNewer = (listed?.started_at ?? 0) > (followed?.started_at ?? 0)
  return (isNewer ? listed?.id : followed?.id) ?? listed?.id ?? ''
}
