import { isUnattended } from '@flotilla/protocol/unattended-session'
import type { RunRules, RunStores } from './loop-deps.ts'
import { judgeRound } from './round-budget.ts'
import type { RunRequest } from './run-request.ts'
import type { Sessions } from './sessions.ts'

/**
 * The conversation that the turn goes on with. One that has used all its rounds begins anew where nobody is there to reset
 * it: a webhook or a watch would else never be answered again. What was said stays in the archive.
 */
export async function conversationOf(
  { sessions, checkpoints, bounds }: Pick<RunStores, 'sessions' | 'checkpoints'> & Pick<RunRules, 'bounds'>,
  { runId, session, task, origin }: Extract<RunRequest, { kind: 'chat' }>,
): ReturnType<Sessions['load']> {
  const found = await sessions.load(session)
  // Later turns of a run are told what others made of its work, and name nobody who asks.
  const begins = origin !== undefined && origin.kind !== 'human' && origin.user !== undefined
  if (task || !begins || !isUnattended(session)) return found
  const { chatRoundsPerTurnMax: perTurnMax, chatRoundsPerSessionMax: perSessionMax } = bounds
  const count = { turn: 0, session: found.rounds, continues: found.continues }
  const verdict = judgeRound({ kind: 'chat', perTurnMax, perSessionMax }, count)
  const isSpent = verdict === 'last' || verdict === 'exhausted'
  // One that was cut off in the middle of its turn goes on where it was.
  if (!isSpent || (await checkpoints.load(runId)) !== null) return found
  await sessions.reset(session)
  return sessions.load(session)
}
