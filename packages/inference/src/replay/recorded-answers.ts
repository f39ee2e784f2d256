import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { RecordedHistory, RecordedMessage } from '@flotilla/protocol/replay-api'
import { recordedCallPattern } from '@flotilla/protocol/replay-endpoints'
import type { KeptMessage } from './exchange.ts'
import type { RecordedRun } from './read-record.ts'
import { replayOf } from './replay-context.ts'
import type { ReplayContext } from './replay-context.ts'
import type { Replay } from './replay-table.ts'

/** Characters of the conversation before a replay; the oldest messages are left out. */
const historyMaxChars = 400_000

export interface RecordedResult {
  readonly output: string
  readonly ok: boolean
  readonly ended: boolean
}

/** Gives the agent of a replay the recorded result of a call. Problem `not-found` in every other run. */
export async function recordedCall(
  context: ReplayContext,
  runId: string | null,
  callId: string,
): Promise<RecordedResult> {
  const found = runId === null ? null : await replayOf(context, runId)
  const result = found && resultOf(found, callId)
  if (!result) throw new Problem('not-found', { detail: 'the record of the run does not contain this call' })
  return result
}

/** Gives the agent of a replay the messages before and during the turn; empty in every other run. */
export async function recordedHistory(
  context: ReplayContext,
  runId: string | null,
): Promise<RecordedHistory> {
  const found = runId === null ? null : await replayOf(context, runId)
  return found === null ? nothingSaid : historyOf(found)
}

interface Replayed {
  readonly record: RecordedRun
  readonly replay: Pick<Replay, 'turn' | 'until'>
}

/** Returns the recorded result of a call in the replayed turn, before a fork's first own step; else null. Pure. */
export function resultOf({ record, replay }: Replayed, callId: string): RecordedResult | null {
  const [, step = '', call = ''] = recordedCallPattern.exec(callId) ?? []
  const turn = record.turns[replay.turn]
  const found = record.steps[Number(step)]
  const isOfTurn = turn !== undefined && Number(step) >= turn.from && Number(step) < turn.to
  const isPast = replay.until !== null && Number(step) >= replay.until
  if (!found || !isOfTurn || isPast || !found.exchange.answer.calls[Number(call)]) return null
  const result = found.results[Number(call)]
  if (result === null || result === undefined)
    return { output: '[The record has no result of this call.]', ok: true, ended: true }
  const output = result.slice(0, wireLimits.chatMessageMaxChars)
  return { output, ok: !result.startsWith('Error ('), ended: false }
}

const nothingSaid: RecordedHistory = { messages: [], said: [] }

/** Pure. */
export function historyOf({ record, replay }: Replayed): RecordedHistory {
  const turn = record.turns[replay.turn]
  if (!turn) return nothingSaid
  const steps = record.steps.slice(turn.from, Math.min(turn.to, replay.until ?? turn.to))
  return { messages: bounded(turn.history).map(recordedMessage), said: textsIn(steps) }
}

/** Returns the newest messages that fit, starting with a user message, so that no result is without its call. */
function bounded(history: readonly KeptMessage[]): readonly KeptMessage[] {
  let room = historyMaxChars
  const from = history.findLastIndex((message) => {
    room -= message.content.length + JSON.stringify(message.calls ?? []).length
    return room < 0
  })
  const whole = history.slice(from + 1)
  return from === -1
    ? whole
    : whole.slice(
        Math.max(
          0,
          whole.findIndex(({ role }) => role === 'user'),
        ),
      )
}

/** The first messages that fit. */
function textsIn(steps: RecordedRun['steps']): RecordedHistory['said'] {
  let room = historyMaxChars
  const all = steps.flatMap(({ said: texts }, index) => texts.map((text) => ({ answers: index + 1, text })))
  return all.filter(({ text }) => {
    room -= text.length
    return room >= 0
  })
}

function recordedMessage({ role, content, calls = [], call_id: callId }: KeptMessage): RecordedMessage {
  if (role === 'assistant') return { role, content, calls: calls.map((call) => ({ ...call })) }
  if (role === 'tool') return { role, content, call_id: callId ?? '' }
  return { role: 'user', content }
}
