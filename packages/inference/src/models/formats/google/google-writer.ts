import { Problem } from '@flotilla/protocol/problem'
import type { Secret } from '@flotilla/egress/credentials'
import { createAnswerEnding } from '../answer/answer-ending.ts'
import { createAnswerFrames } from '../answer/answer-frames.ts'
import { reasonIn } from '../answer/chat-wire.ts'
import { doneMark } from '../answer/done-mark.ts'
import type { Frame } from '../answer/event-lines.ts'
import { errorInAnswer } from '../answer/error-in-answer.ts'
import { readOnce } from '../answer/repeated-deltas.ts'
import { namesOf } from '../answer/strange-content.ts'
import { unreadable } from '../answer/unreadable.ts'
import { unwrapped, wireValues } from '../answer/wire-values.ts'
import { membersOf } from '../claude/claude-message.ts'
import type { Members } from '../claude/claude-message.ts'
import { isRecord } from '../empty-answer.ts'
import { partsOf } from './google-parts.ts'

const keepAlive = /^(?:ping|null|\{\s*\}|\[\s*\])?$/i

/** The end of an answer whose stream ended with the mark of chat completions and without a reason. */
const stopped: Members = {
  candidates: [{ content: { role: 'model', parts: [] }, finishReason: 'STOP', index: 0 }],
}

/** Returns the members of the parts that could not be read; an empty text for a candidate without parts. */
function strangeIn({ content }: Members): string {
  const { parts } = membersOf(content)
  const [first] = (Array.isArray(parts) ? (parts as unknown[]) : [parts]).filter(isRecord)
  return first === undefined ? '' : namesOf(first)
}

/**
 * Reads an answer of Gemini, whole or streamed, and writes it in the form that was asked for: events, or one answer
 * at the end. Only the members that a chat completion can express are kept, so that a new or broken member
 * elsewhere does not make the answer unreadable. Throws the Problem `provider-unreadable`.
 */
export function createGoogleWriter({
  stream,
  secrets = [],
}: {
  readonly stream: boolean
  readonly secrets?: readonly Secret[]
}) {
  const frames = createAnswerFrames()
  const answers: Members[] = []
  let hasAny = false
  const ending = createAnswerEnding()
  let hasSaid = false
  let hasReason = false
  let strange = ''
  /** The members of the first part that could not be read. */
  let strangePart = ''

  function answerOf(given: Members, asWritten: Members): readonly Members[] {
    const [value, written] = [unwrapped(given, 'candidates'), unwrapped(asWritten, 'candidates')]
    const candidates = value['candidates'] ?? value['candidate']
    const hasCandidates = candidates !== undefined && (!Array.isArray(candidates) || candidates.length > 0)
    const failure = hasCandidates ? null : errorInAnswer(value, { secrets })
    if (failure !== null) return ending.isComplete() ? [] : [{ error: errorOf(value, failure.detail) }]
    if (!knownMembers.some((name) => name in value) && !isCandidate(value)) {
      strange ||= `an object of ${namesOf(value)}`
      return []
    }
    const mended = mendedAnswer(written)
    const [candidate] = (mended['candidates'] ?? []) as readonly Members[]
    const parts = membersOf(candidate?.['content'])['parts']
    const hasContent = Array.isArray(parts) && parts.length > 0
    const silent = hasContent ? null : candidateOf(written)
    if (silent !== null) strangePart ||= strangeIn(silent)
    hasSaid ||= hasContent
    hasReason ||= candidate?.['finishReason'] !== undefined
    ending.take({ hasContent, hasReason: candidate?.['finishReason'] !== undefined })
    return [mended]
  }

  function takeFrame({ event, data }: Frame): string {
    const text = data.trim()
    if (doneMark.test(text)) return hasSaid && !hasReason ? write([stopped]) : ''
    if (keepAlive.test(text) || event === 'stray') return ''
    return write(
      wireValues(text, secrets).flatMap(({ value, written }) => answerOf(value, membersOf(written))),
    )
  }

  function write(mended: readonly Members[]): string {
    hasAny ||= mended.length > 0
    if (stream) return mended.map((answer) => `data: ${JSON.stringify(answer)}\n\n`).join('')
    answers.push(...mended)
    return ''
  }

  return {
    take: (bytes: Uint8Array): string => frames.take(bytes).map(takeFrame).join(''),
    end(): string {
      const last = frames.end().map(takeFrame).join('')
      if (!hasAny) throw unreadable(strange === '' ? 'it has no candidates' : strange)
      if (!hasSaid && strangePart !== '') throw unreadable(`a part of ${strangePart}`)
      if (stream) return last
      const failed = answers.find(({ error }) => error !== undefined)
      if (failed) return JSON.stringify(failed)
      const whole = joinedAnswer(answers)
      if (!isOver(whole)) throw new Problem('upstream-failed', { detail: 'the model ended its answer early' })
      return JSON.stringify(whole)
    },
  }
}

const knownMembers = [
  'candidates',
  'candidate',
  'usageMetadata',
  'usage_metadata',
  'promptFeedback',
  'prompt_feedback',
] as const

/**
 * Returns the provider's error in the form that the AI SDK package reads, which keeps these three members alone. The
 * id of a quota takes the place of the status, because it alone tells a quota of a day from a limit of a minute.
 */
function errorOf({ error }: Members, message: string): Members {
  const { code, status, details } = membersOf(Array.isArray(error) ? error[0] : error)
  const named = quotaIn(details) ?? status
  return {
    code: typeof code === 'number' ? code : null,
    message,
    status: typeof named === 'string' ? named : 'UNKNOWN',
    // A whole answer is passed on with them.
    ...(Array.isArray(details) ? { details } : {}),
  }
}

function quotaIn(details: unknown): unknown {
  const all: readonly unknown[] = Array.isArray(details) ? details : []
  const violations = all.flatMap((detail) => membersOf(detail)['violations'] ?? [])
  return violations.map((one) => membersOf(one)['quotaId']).find((id) => typeof id === 'string')
}

function mendedAnswer(answer: Members): Members {
  const { responseId, modelVersion, promptFeedback } = answer
  const first = candidateOf(answer)
  const feedback = membersOf(promptFeedback ?? answer['prompt_feedback'])
  const blocked = feedback['blockReason'] ?? feedback['block_reason']
  return {
    ...(typeof responseId === 'string' ? { responseId } : {}),
    ...(typeof modelVersion === 'string' ? { modelVersion } : {}),
    ...(first === null ? {} : { candidates: [mendedCandidate(first)] }),
    ...(typeof blocked === 'string' ? { promptFeedback: { blockReason: blocked } } : {}),
    ...usageIn(answer),
  }
}

/** Returns the first candidate: of a list, by its index, alone, or the answer itself if that has the content. */
function candidateOf(answer: Members): Members | null {
  const given = answer['candidates'] ?? answer['candidate']
  if (given === undefined || given === null) return isCandidate(answer) ? answer : null
  const isByIndex = isRecord(given) && isRecord(given['0'])
  const list: readonly unknown[] = Array.isArray(given) ? given : isByIndex ? Object.values(given) : [given]
  const first = list.find((one) => isRecord(one) && (one['index'] ?? 0) === 0) ?? list.find(isRecord)
  return isRecord(first) ? first : null
}

function isCandidate(answer: Members): boolean {
  return ['content', 'parts'].some((name) => (answer[name] ?? null) !== null) || reasonIn(answer) !== ''
}

function usageIn(answer: Members): Members {
  const usage = answer['usageMetadata'] ?? answer['usage_metadata']
  if (!isRecord(usage)) return {}
  const counts = Object.entries(usage).flatMap(([given, value]) => {
    const name = given.replaceAll(/_([a-z])/g, (_mark, letter: string) => letter.toUpperCase())
    const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
    return name.endsWith('TokenCount') && typeof count === 'number' ? [[name, count] as const] : []
  })
  return { usageMetadata: Object.fromEntries(counts) }
}

function mendedCandidate(candidate: Members): Members {
  const message = candidate['finishMessage'] ?? candidate['finish_message']
  return {
    content: { role: 'model', parts: partsOf(candidate) },
    ...finishIn(candidate),
    ...(typeof message === 'string' ? { finishMessage: message } : {}),
    index: 0,
  }
}

/** The reasons by their numbers in Google's protocol buffers, which some gateways print. */
const reasons = ['', 'STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT']

function finishIn(candidate: Members): Members {
  const given = reasonIn(candidate)
  const finishReason = /^\d{1,3}$/.test(given) ? (reasons[Number(given)] ?? `reason ${given}`) : given
  return finishReason === '' ? {} : { finishReason }
}

/** Joins the answers of a stream to one. */
function joinedAnswer(answers: readonly Members[]): Members {
  const candidates = answers.flatMap(({ candidates: list }) =>
    Array.isArray(list) ? (list as Members[]) : [],
  )
  const parts = withoutRepeats(
    candidates.flatMap(({ content }) => membersOf(content)['parts'] as readonly Members[]),
  )
  const whole: Members = Object.assign({}, ...answers) as Members
  if (candidates.length === 0) return whole
  const last: Members = Object.assign({}, ...candidates) as Members
  return { ...whole, candidates: [{ ...last, content: { role: 'model', parts } }] }
}

/** Reads text once whose pieces repeat all text so far; a stream is read so by the reader of all streams. */
function withoutRepeats(parts: readonly Members[]): readonly Members[] {
  const isSaid = ({ text, thought }: Members) => typeof text === 'string' && thought !== true
  const isThought = ({ text, thought }: Members) => typeof text === 'string' && thought === true
  return [isSaid, isThought].reduce((all, isOfKind) => {
    const fresh = readOnce(all.filter(isOfKind).map(({ text }) => String(text)))
    return all.map((part) => (isOfKind(part) ? { ...part, text: fresh.shift() ?? '' } : part))
  }, parts)
}
function isOver(answer: Members): boolean {
  const [candidate] = (answer['candidates'] ?? []) as readonly Members[]
  return candidate === undefined || typeof candidate['finishReason'] === 'string'
}
