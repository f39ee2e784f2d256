import { Problem } from '@flotilla/protocol/problem'
import type { Secret } from '@flotilla/egress/credentials'
import { createAnswerFrames } from '../answer/answer-frames.ts'
import type { Frame } from '../answer/event-lines.ts'
import { errorInAnswer } from '../answer/error-in-answer.ts'
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
  let strange = ''

  function answerOf(given: Members, asWritten: Members): readonly Members[] {
    const [value, written] = [unwrapped(given), unwrapped(asWritten)]
    const failure = 'candidates' in value ? null : errorInAnswer(value, { secrets })
    if (failure !== null) return [{ error: errorOf(value, failure.detail) }]
    if (!knownMembers.some((name) => name in value)) {
      strange ||= Object.keys(value).slice(0, 8).join(', ').slice(0, 100)
      return []
    }
    return [mendedAnswer(written)]
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

/** Returns the provider's error in the form that the AI SDK package reads. */
function errorOf({ error }: Members, message: string): Members {
  const details = membersOf(error)
  const { code, status } = details
  return {
    code: typeof code === 'number' ? code : null,
    message,
    status: typeof status === 'string' ? status : 'UNKNOWN',
  }
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
    ...(typeof finishReason === 'string' ? { finishReason } : {}),
    ...(typeof finishMessage === 'string' ? { finishMessage } : {}),
    index: 0,
  }
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
  return (typeof args === 'string' ? writtenObject(args) : null) ?? { invalid_json: args }
}

/** Joins the answers of a stream to one. */
function joinedAnswer(answers: readonly Members[]): Members {
  const candidates = answers.flatMap(({ candidates: list }) =>
    Array.isArray(list) ? (list as Members[]) : [],
  )
  const parts = candidates.flatMap(({ content }) => membersOf(content)['parts'] as readonly unknown[])
  const whole: Members = Object.assign({}, ...answers) as Members
  if (candidates.length === 0) return whole
  const last: Members = Object.assign({}, ...candidates) as Members
  return { ...whole, candidates: [{ ...last, content: { role: 'model', parts } }] }
}

function isOver(answer: Members): boolean {
  const [candidate] = (answer['candidates'] ?? []) as readonly Members[]
  return candidate === undefined || typeof candidate['finishReason'] === 'string'
}
