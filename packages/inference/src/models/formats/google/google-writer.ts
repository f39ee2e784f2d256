import { Problem } from '@flotilla/protocol/problem'
import type { Secret } from '@flotilla/egress/credentials'
import { createAnswerEnding } from '../answer/answer-ending.ts'
import { createAnswerFrames } from '../answer/answer-frames.ts'
import type { Frame } from '../answer/event-lines.ts'
import { errorInAnswer } from '../answer/error-in-answer.ts'
import { wrapped } from '../answer/call-arguments.ts'
import { readOnce } from '../answer/repeated-deltas.ts'
import { unreadable } from '../answer/unreadable.ts'
import { wireValues } from '../answer/wire-values.ts'
import { membersOf, writtenObject } from '../claude/claude-message.ts'
import type { Members } from '../claude/claude-message.ts'
import { isRecord } from '../empty-answer.ts'

const keepAlive = /^(?:ping|null|\[?done\]?|\{\s*\}|\[\s*\])?$/i

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
  let strange = ''

  function answerOf(given: Members, asWritten: Members): readonly Members[] {
    const [value, written] = [unwrapped(given), unwrapped(asWritten)]
    const { candidates } = value
    const hasCandidates = candidates !== undefined && (!Array.isArray(candidates) || candidates.length > 0)
    const failure = hasCandidates ? null : errorInAnswer(value, { secrets })
    if (failure !== null) return ending.isComplete() ? [] : [{ error: errorOf(value, failure.detail) }]
    if (!knownMembers.some((name) => name in value)) {
      strange ||= Object.keys(value).slice(0, 8).join(', ').slice(0, 100)
      return []
    }
    const mended = mendedAnswer(written)
    const [candidate] = (mended['candidates'] ?? []) as readonly Members[]
    const parts = membersOf(candidate?.['content'])['parts']
    ending.take({
      hasContent: Array.isArray(parts) && parts.length > 0,
      hasReason: candidate?.['finishReason'] !== undefined,
    })
    return [mended]
  }

  function takeFrame({ event, data }: Frame): string {
    const text = data.trim()
    if (keepAlive.test(text) || event === 'stray') return ''
    const mended = wireValues(text, secrets).flatMap(({ value, written }) =>
      answerOf(value, membersOf(written)),
    )
    hasAny ||= mended.length > 0
    if (stream) return mended.map((answer) => `data: ${JSON.stringify(answer)}\n\n`).join('')
    answers.push(...mended)
    return ''
  }

  return {
    take: (bytes: Uint8Array): string => frames.take(bytes).map(takeFrame).join(''),
    end(): string {
      const last = frames.end().map(takeFrame).join('')
      if (!hasAny) throw unreadable(strange === '' ? 'it has no candidates' : `an object of ${strange}`)
      if (stream) return last
      const failed = answers.find(({ error }) => error !== undefined)
      if (failed) return JSON.stringify(failed)
      const whole = joinedAnswer(answers)
      if (!isOver(whole)) throw new Problem('upstream-failed', { detail: 'the model ended its answer early' })
      return JSON.stringify(whole)
    },
  }
}

/** Returns the answer without the member `response`, in which Google's Code Assist API puts it. */
function unwrapped(value: Members): Members {
  const inner = membersOf(value['response'])
  return 'candidates' in inner && !('candidates' in value) ? inner : value
}

const knownMembers = ['candidates', 'usageMetadata', 'promptFeedback'] as const

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
  const { responseId, modelVersion, candidates, promptFeedback } = answer
  const list = Array.isArray(candidates)
    ? (candidates as unknown[])
    : isRecord(candidates)
      ? [candidates]
      : null
  const first = list?.find((one) => isRecord(one) && (one['index'] ?? 0) === 0) ?? list?.find(isRecord)
  const blocked = membersOf(promptFeedback)['blockReason']
  return {
    ...(typeof responseId === 'string' ? { responseId } : {}),
    ...(typeof modelVersion === 'string' ? { modelVersion } : {}),
    ...(first === undefined ? {} : { candidates: [mendedCandidate(membersOf(first))] }),
    ...(typeof blocked === 'string' ? { promptFeedback: { blockReason: blocked } } : {}),
    ...usageIn(answer),
  }
}

function usageIn({ usageMetadata }: Members): Members {
  if (!isRecord(usageMetadata)) return {}
  const counts = Object.entries(usageMetadata).flatMap(([name, value]) => {
    const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
    return name.endsWith('TokenCount') && typeof count === 'number' ? [[name, count] as const] : []
  })
  return { usageMetadata: Object.fromEntries(counts) }
}

function mendedCandidate({ content, finishReason, finishMessage }: Members): Members {
  const { parts } = membersOf(content)
  const list = Array.isArray(parts) ? (parts as unknown[]) : isRecord(parts) ? [parts] : []
  return {
    content: { role: 'model', parts: list.flatMap((part) => mendedPart(membersOf(part))) },
    ...finishIn(finishReason),
    ...(typeof finishMessage === 'string' ? { finishMessage } : {}),
    index: 0,
  }
}

/** The reasons by their numbers in Google's protocol buffers, which some gateways print. */
const reasons = ['', 'STOP', 'MAX_TOKENS', 'SAFETY', 'RECITATION', 'OTHER', 'BLOCKLIST', 'PROHIBITED_CONTENT']

function finishIn(reason: unknown): Members {
  const finishReason = typeof reason === 'number' ? (reasons[reason] ?? `reason ${reason}`) : reason
  return typeof finishReason === 'string' && finishReason !== '' ? { finishReason } : {}
}

/** Returns the part without members that the package does not know; an empty list if nothing remains. */
function mendedPart(part: Members): readonly Members[] {
  const { text, thought } = part
  // Gateways that read Google's protocol buffers write names with underscores.
  const inlineData = part['inlineData'] ?? part['inline_data']
  const functionCall = part['functionCall'] ?? part['function_call']
  const seal = part['thoughtSignature'] ?? part['thought_signature']
  const more = {
    ...(thought === true ? { thought } : {}),
    ...(typeof seal === 'string' && seal !== '' ? { thoughtSignature: seal } : {}),
  }
  if (isRecord(functionCall)) return [{ functionCall: mendedCall(functionCall), ...more }]
  if (typeof text === 'string') return [{ text, ...more }]
  if (typeof text === 'number' || typeof text === 'boolean') return [{ text: String(text), ...more }]
  const media = membersOf(inlineData)
  const mimeType = media['mimeType'] ?? media['mime_type']
  const { data } = media
  if (typeof mimeType === 'string' && typeof data === 'string')
    return [{ inlineData: { mimeType, data }, ...more }]
  return 'thoughtSignature' in more ? [{ text: '', ...more }] : []
}

/** Adapts a call: some gateways write the arguments as a JSON text. A call that arrives in pieces stays unchanged. */
function mendedCall(call: Members): Members {
  const { id, name, args } = call
  if ('partialArgs' in call || 'willContinue' in call) return call
  return {
    ...(typeof id === 'string' && id !== '' ? { id } : {}),
    name: typeof name === 'string' ? name : '',
    args: argumentsOf(args),
  }
}

function argumentsOf(args: unknown): unknown {
  if (isRecord(args)) return args
  if (args === null || args === undefined || args === '') return {}
  if (Array.isArray(args) && args.length === 1 && isRecord(args[0])) return args[0]
  return (typeof args === 'string' ? writtenObject(args) : null) ?? wrapped(args)
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
