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
  const now = live.filter(({ runId, state }) => runId === null || state !== 'ended' || !replaced.has(runId))
  return [
    ...before.filter(({ runId }) => runId === null || !now.some((turn) => turn.runId === runId)),
    ...now,
  ].map((turn) => {
    const run = turn.runId === null ? undefined : known.get(turn.runId)
    const isNewer = run !== undefined && run !== turn.run && isTerminal(run.state)
    return isNewer && turn.state === 'ended' ? { ...turn, run } : turn
  })
}
