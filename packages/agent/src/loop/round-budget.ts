/** How often a session that has used up its rounds may be continued. */
const sessionContinuesMax = 5 // limits:session-continues

/** How many answers of the model one run may request. */
export type RoundLimits =
  | { readonly kind: 'task' | 'heartbeat'; readonly iterationsMax: number }
  | { readonly kind: 'chat'; readonly perTurnMax: number; readonly perSessionMax: number }

export interface RoundCount {
  /** Answers in this run. */
  readonly turn: number
  /** Answers in this session since its start or its last continuation. */
  readonly session: number
  /** Number of continuation prompts in this session. */
  readonly continues: number
}

/**
 * What the next round may be: `go` as usual; `continue` after a prompt that says that the session continues
 * with fresh counts; `last` for one answer that must end the run; `exhausted` for no further answer.
 */
export type RoundVerdict = 'go' | 'continue' | 'last' | 'exhausted'

/**
 * Pure. The last iteration of a task or heartbeat is a `last`; a chat gets one answer without tools beyond
 * its turn limit.
 */
export function judgeRound(bounds: RoundLimits, count: RoundCount): RoundVerdict {
  if (bounds.kind !== 'chat') {
    if (count.turn >= bounds.iterationsMax) return 'exhausted'
    return count.turn === bounds.iterationsMax - 1 ? 'last' : 'go'
  }
  if (count.turn > bounds.perTurnMax) return 'exhausted'
  const sessionSpent = count.session >= bounds.perSessionMax
  if (sessionSpent && count.continues >= sessionContinuesMax) {
    return count.session > bounds.perSessionMax ? 'exhausted' : 'last'
  }
  if (count.turn === bounds.perTurnMax) return 'last'
  return sessionSpent ? 'continue' : 'go'
}

/** Pure. */
export function countRound(count: RoundCount): RoundCount {
  return { ...count, turn: count.turn + 1, session: count.session + 1 }
}

/** Pure. */
export function countContinuation(count: RoundCount): RoundCount {
  return { ...count, session: 0, continues: count.continues + 1 }
}
