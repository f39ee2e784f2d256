import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import type { Thought } from '@flotilla/protocol/normal-answer'
import { joinThoughts } from '@flotilla/protocol/thoughts'
import type { Secret } from '@flotilla/egress/credentials'
import { readJsonAsWritten } from '@flotilla/foundation/intake'
import type { JudgeError } from '../../llm-provider.ts'
import { createAnswerFrames } from '../answer/answer-frames.ts'
import { createAnswerReader } from '../answer/answer-reader.ts'
import type { AnswerEnd } from '../answer/answer-reader.ts'
import type { NormalEnd } from '../answer/end-reasons.ts'
import type { Frame } from '../answer/event-lines.ts'
import { normalCalls } from '../answer/write-normal.ts'
import { inputText } from '../translate/message-events.ts'
import type { UsageRule } from '../usage.ts'
import { contentsAnswer, printedPiece } from './contents-answer.ts'
import type { ContentsHead } from './contents-answer.ts'
import { sealOf } from './contents-seal.ts'
import { contentsUsage } from './contents-usage.ts'

interface ContentsOptions {
  /** Whether the client asked for a stream; the form of the provider's answer is detected from its bytes. */
  readonly stream: boolean
  readonly head: ContentsHead
  /** Whether the client asked for the thinking as parts. */
  readonly showsThoughts: boolean
  readonly rule: UsageRule
  readonly secrets: readonly Secret[]
  /** The name of the provider. */
  readonly from: string
  readonly newId: () => string
  readonly judge?: JudgeError | undefined
}

const finishReasons: Readonly<Record<NormalEnd, string>> = {
  stop: 'STOP',
  tool_calls: 'STOP',
  length: 'MAX_TOKENS',
  content_filter: 'SAFETY',
}

/**
 * Converts the bytes of a chat completion to those of `generateContent`: pieces of a stream, or one JSON text at the
 * end. Throws the Problems of the answer reader.
 */
export function createContentsWriter(options: ContentsOptions) {
  const { stream, head, showsThoughts, rule, secrets, from, newId, judge } = options
  const frames = createAnswerFrames()
  const reader = createAnswerReader({ secrets, from, judge, takesBack: false })
  const thoughts: Thought[] = []
  const whole: JsonObject[] = []

  function partsOf(text: string, more: readonly Thought[]): JsonObject[] {
    thoughts.push(...more)
    const thought = showsThoughts ? more.map((one) => one['text'] ?? '').join('') : ''
    return [...(thought === '' ? [] : [{ text: thought, thought: true }]), ...(text === '' ? [] : [{ text }])]
  }

  function takeAll(all: readonly Frame[]): string {
    let out = ''
    for (const frame of all) {
      const news = reader.take(frame)
      const parts = partsOf(news.text, news.thoughts)
      if (parts.length === 0) continue
      if (stream) out += printedPiece(contentsAnswer(head, parts))
      else addParts(whole, parts)
    }
    return out
  }

  /** Returns the last parts: the calls, or an empty text, have the signature of the thinking before. */
  function lastParts(end: AnswerEnd): JsonObject[] {
    const made = normalCalls(end.calls, { newId, from })
    const parts = partsOf(end.text, end.thoughts)
    const all = [...joinThoughts(thoughts), ...made.seals]
    const ids = new Set(made.calls.map(({ id }) => id))
    const ofCall = (id: string) => all.filter((one) => one['id'] === id).map(({ id: _id, ...one }) => one)
    const others = all.filter((one) => typeof one['id'] !== 'string' || !ids.has(one['id']))
    const calls = made.calls.map(({ id, function: called }, index) => {
      const seal = sealOf({ before: index === 0 ? others : [], own: ofCall(id) })
      return {
        functionCall: {
          id,
          name: called.name,
          args: readJsonAsWritten(inputText(called.arguments), jsonLimits.modelAnswer) as JsonValue,
        },
        ...(seal === undefined ? {} : { thoughtSignature: seal }),
      }
    })
    const seal = calls.length === 0 ? sealOf({ before: others, own: [] }) : undefined
    return [...parts, ...calls, ...(seal === undefined ? [] : [{ text: '', thoughtSignature: seal }])]
  }

  return {
    take: (bytes: Uint8Array): string => takeAll(frames.take(bytes)),
    end(): string {
      const before = takeAll(frames.end())
      const end = reader.end()
      const parts = lastParts(end)
      const ending = { reason: finishReasons[end.end], usage: contentsUsage(end.usage, rule) }
      if (stream) return before + printedPiece(contentsAnswer(head, parts, ending))
      addParts(whole, parts)
      return JSON.stringify(contentsAnswer(head, whole, ending))
    },
  }
}

/** Adds parts to a whole answer, where pieces of one text are one part. */
function addParts(whole: JsonObject[], parts: readonly JsonObject[]): void {
  for (const part of parts) {
    const last = whole.at(-1)
    const [before, more] = [plainTextIn(last), plainTextIn(part)]
    if (before !== null && more !== null && last?.['thought'] === part['thought'])
      whole[whole.length - 1] = { ...last, text: before + more }
    else whole.push(part)
  }
}

/** Returns the text of a part without a signature; null for any other part. */
function plainTextIn(part: JsonObject | undefined): string | null {
  const text = part?.['text']
  return typeof text === 'string' && part?.['thoughtSignature'] === undefined ? text : null
}
