import type { RunView } from '@flotilla/protocol/run'

export const runOrders = ['newest', 'longest', 'most tokens', 'highest cost'] as const
export type RunOrder = (typeof runOrders)[number]

/** Sorts the listed runs, which are newest first; an open run has lasted until now. Pure. */
export function sortRuns(runs: readonly RunView[], order: RunOrder, now: number): readonly RunView[] {
  const took = ({ started_at: started, ended_at: ended }: RunView): number =>
    started === null ? 0 : (ended ?? now) - started
  const figures: Readonly<Record<RunOrder, ((run: RunView) => number) | null>> = {
    newest: null,
    longest: took,
    'most tokens': (run) => run.tokens_used,
    'highest cost': (run) => run.cost_usd,
  }
  const figure = figures[order]
  return figure === null ? runs : runs.toSorted((one, other) => figure(other) - figure(one))
}
