import { isUnattended } from '@flotilla/protocol/unattended-session'
import type { RunRules, RunStores } from './loop-deps.ts'
import { judgeRound } from './round-budget.ts'
import type { RunRequest } from './run-request.ts'
import type { Sessions } from './sessions.ts'

/**
 * The conversation that the turn continues. A conversation that has used all its rounds is restarted if no
 * person is there to reset it: otherwise a webhook or a watch would never be answered again. The old messages
 * stay in the archive.
 */
export async function conversationOf(
  { sessions, checkpoints, bounds }: Pick<RunStores, 'sessions' | 'checkpoints'> & Pick<RunRules, 'bounds'>,
  { runId, session, task, origin }: Extract<RunRequest, { kind: 'chat' }>,
): ReturnType<Sessions['load']> {
  const found = await sessions.load(session)
  // Later turns of a run carry results of other agents and name no user.
  const begins = origin !== undefined && origin.kind !== 'human' && origin.user !== undefined
  if (task || !begins || !isUnattended(session)) return found
  const { chatRoundsPerTurnMax: perTurnMax, chatRoundsPerSessionMax: perSessionMax } = bounds
  const count = { turn: 0, session: found.rounds, continues: found.continues }
  const verdict = judgeRound({ kind: 'chat', perTurnMax, perSessionMax }, count)
  const isSpent = verdict === 'last' || verdict === 'exhausted'
  // A conversation that was interrupted in the middle of a turn continues.
  if (!isSpent || (await checkpoints.load(runId)) !== null) return found
  await sessions.reset(session)
  return sessions.load(session)
}
