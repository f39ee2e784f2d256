import type { RunStatus } from '../tools/tool.ts'
import type { LoopState } from './loop-state.ts'
import type { RoundsDeps } from './run-rounds.ts'

/** Pure. How far a run is, in the numbers that bound it. */
export function runStatusOf(
  { bounds, spending }: Pick<RoundsDeps, 'bounds' | 'spending'>,
  { startedAt, rounds, tokens, costUsd }: Pick<LoopState, 'startedAt' | 'rounds' | 'tokens' | 'costUsd'>,
): RunStatus {
  const isChat = bounds.kind === 'chat'
  return {
    startedAt,
    rounds: rounds.turn,
    roundsMax: isChat ? bounds.perTurnMax : bounds.iterationsMax,
    sessionRounds: isChat ? { used: rounds.session, max: bounds.perSessionMax } : null,
    tokens,
    costUsd,
    spending,
  }
}
