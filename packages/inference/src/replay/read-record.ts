import type { Exchange, KeptMessage } from './exchange.ts'
import type { Pieces } from './in-pieces.ts'

/** A run as it was recorded, step by step: a step is one answer in the run's own conversation. Pure. */
export interface RecordedRun {
  readonly steps: readonly RecordedStep[]
  readonly turns: readonly RecordedTurn[]
  /** The number of answers outside of the conversation. */
  readonly beside: number
}

export interface RecordedStep {
  /** Index of the step, from 0. */
  readonly at: number
  readonly exchange: Exchange
  /** The result of each call in the answer; null if none was recorded. */
  readonly results: readonly (string | null)[]
  /** Messages to the agent after the answer and its results, before its next request in the same turn. */
  readonly said: readonly string[]
}

export interface RecordedTurn {
  /** Index of its first step. */
  readonly from: number
  /** Index after its last step. */
  readonly to: number
  /** The turn's input. */
  readonly asked: string
  /** The messages of the conversation before the turn. */
  readonly history: readonly KeptMessage[]
}

export function* readRecord(exchanges: readonly Exchange[]): Pieces<RecordedRun> {
  const loop = exchanges.filter(({ purpose }) => purpose === 'loop')
  const answered: Exchange[] = []
  for (const [at, exchange] of loop.entries()) {
    const next = loop[at + 1]
    // If a crash made the agent ask the same question again, only the last answer counts.
    const isAgain = next !== undefined && next.turn === exchange.turn && (yield* isSame(exchange, next))
    if (!isAgain) answered.push(exchange)
  }
  const steps: RecordedStep[] = []
  for (const [at, exchange] of answered.entries()) {
    const next = answered[at + 1]
    steps.push({ at, exchange, results: resultsOf(exchange, next), said: textsBetween(exchange, next) })
    yield exchange.messages.length
  }
  const begins = steps.filter(
    ({ at, exchange }) => at === 0 || steps[at - 1]?.exchange.turn !== exchange.turn,
  )
  const turns: RecordedTurn[] = []
  for (const [index, first] of begins.entries()) {
    const { messages } = first.exchange
    const requestIndex = messages.findLastIndex(({ role }) => role === 'user')
    turns.push({
      from: first.at,
      to: begins[index + 1]?.at ?? steps.length,
      asked: messages[requestIndex]?.content ?? '',
      history: withoutMoment(
        messages.slice(0, Math.max(0, requestIndex)).filter(({ role }) => role !== 'system'),
      ),
    })
    yield messages.length
  }
  return { steps, turns, beside: exchanges.length - loop.length }
}

/** Removes the time message before the question of a turn, because a replay has the time of the replay. */
function withoutMoment(messages: readonly KeptMessage[]): readonly KeptMessage[] {
  const last = messages.at(-1)
  const isMoment = last?.role === 'user' && /^\[It is [^\]]{1,60} UTC\.\]$/.test(last.content)
  return isMoment ? messages.slice(0, -1) : messages
}

/** Returns whether both exchanges have equal messages. Continued messages are the same objects, fast to compare. */
function* isSame(one: Exchange, other: Exchange): Pieces<boolean> {
  if (one.messages.length !== other.messages.length) return false
  for (const [at, message] of one.messages.entries()) {
    const beside = other.messages[at]
    if (message === beside) continue
    const text = JSON.stringify(message)
    yield text.length
    if (text !== JSON.stringify(beside)) return false
  }
  return true
}

/** Messages such as steers or reminders of open tasks, with which a turn continues after an answer without calls. */
function textsBetween({ turn }: Exchange, next: Exchange | undefined): string[] {
  if (next?.turn !== turn) return []
  const own = next.messages.filter(({ role }) => role !== 'system')
  const last = own.findLastIndex(({ role }) => role !== 'user')
  return last === -1 ? [] : own.slice(last + 1).map(({ content }) => content)
}

/** Returns the results of the answer's calls, in their order, from the conversation in the next exchange. */
function resultsOf({ messages, answer }: Exchange, next: Exchange | undefined): (string | null)[] {
  if (answer.calls.length === 0) return []
  const names = answer.calls.map(({ name }) => name).join(' ')
  const later = next?.messages ?? []
  // The answer follows the messages of its request; in a shortened conversation, its last occurrence counts.
  const isAnswer = (message: KeptMessage | undefined) =>
    message?.role === 'assistant' && (message.calls ?? []).map(({ name }) => name).join(' ') === names
  const questions = messages.filter(({ role }) => role !== 'system').length
  let seen = 0
  const expected = later.findIndex((message) => {
    if (message.role === 'system') return false
    seen += 1
    return seen === questions + 1
  })
  const at = isAnswer(later[expected]) ? expected : later.findLastIndex(isAnswer)
  if (at === -1) return answer.calls.map(() => null)
  const ids = later[at]?.calls?.map(({ id }) => id) ?? []
  const results = new Map(
    later
      .slice(at + 1)
      .flatMap(({ role, call_id: id, content }) => (role === 'tool' && id ? [[id, content]] : [])),
  )
  return answer.calls.map((_call, index) => results.get(ids[index] ?? '') ?? null)
}

/**
 * Returns the step that a conversation asks for, if it began with `asked` at step `from` and continued with recorded
 * answers. Call ids of other replays, and of live models after a fork, may look the same. So ids count only after
 * the question and within the turn, and never lower the step below the number of answers after the question.
 */
export function stepAskedFor(
  messages: readonly KeptMessage[],
  turn: { readonly from: number; readonly to: number; readonly asked: string },
): number {
  const requestIndex = messages.findLastIndex(
    ({ role, content }) => role === 'user' && content === turn.asked,
  )
  const own = messages.slice(requestIndex + 1)
  const answers = (from: number) => own.slice(from).filter(({ role }) => role === 'assistant').length
  // In a shortened conversation some answers are missing, so the ids in its last recorded answer determine the step.
  const last = own.findLastIndex((message) => playedStep(message, turn) !== null)
  const step = last === -1 ? null : playedStep(own[last], turn)
  const byId = step === null ? turn.from : step + 1 + answers(last + 1)
  // Without the question it is unknown which answers belong to the turn.
  return requestIndex === -1 && step !== null ? byId : Math.max(byId, turn.from + answers(0))
}

/** Returns the step of the turn to which a recorded answer belongs, by its call ids; null for any other message. */
function playedStep(
  message: KeptMessage | undefined,
  turn: { readonly from: number; readonly to: number },
): number | null {
  if (message?.role !== 'assistant') return null
  const steps = (message.calls ?? []).map(({ id }) => recordedStep(id))
  return steps.find((step) => step !== null && step >= turn.from && step < turn.to) ?? null
}

function recordedStep(id: string): number | null {
  const digits = /^recorded_(\d{1,6})_\d{1,4}$/.exec(id)?.[1]
  return digits === undefined ? null : Number(digits)
}
