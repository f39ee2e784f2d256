import type { JudgeError } from '../../llm-provider.ts'
import type { Secret } from '@flotilla/egress/credentials'
import { createAnswerFrames } from '../answer/answer-frames.ts'
import { createAnswerReader } from '../answer/answer-reader.ts'
import type { SaidNews } from '../answer/answer-reader.ts'
import type { NormalEnd } from '../answer/end-reasons.ts'
import type { Frame } from '../answer/event-lines.ts'
import { normalCalls } from '../answer/write-normal.ts'
import { countIn, membersOf, usageFrom } from '../usage.ts'

export interface PackagedOptions {
  readonly stream: boolean
  readonly newId: () => string
  readonly secrets?: readonly Secret[]
  readonly judge?: JudgeError | undefined
}

/** New words and thinking of an answer. */
export interface PackagedNews {
  readonly text: string
  readonly thought: string
}

export interface PackagedAnswer extends PackagedNews {
  readonly id: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
  readonly end: NormalEnd
  /** Zeros if the provider reported no usage, which packages require. */
  readonly usage: PackagedUsage
}

export interface PackagedUsage {
  readonly prompt: number
  readonly answer: number
  readonly cached: number
  readonly reasoning: number
}

/** The form of an answer that the package of one provider reads. */
export interface PackagedForm {
  /** Returns a frame in the form of chat completions; omitted if the provider has that form. */
  readonly chatFrames?: (frame: Frame) => readonly Frame[]
  /** Writes events for news, which are never empty. */
  readonly news: (news: PackagedNews) => string
  /** Writes the last events: the calls, the reason and the usage. */
  readonly end: (answer: PackagedAnswer) => string
  readonly whole: (answer: PackagedAnswer) => string
}

/**
 * Reads an answer by the reader of chat completions and writes it in the only form that a provider's package accepts,
 * whole or streamed. Throws the Problems of the reader.
 */
export function createPackagedWriter(
  { chatFrames = (frame) => [frame], ...form }: PackagedForm,
  { stream, newId, secrets = [], judge }: PackagedOptions,
) {
  const frames = createAnswerFrames()
  const reader = createAnswerReader({ secrets, judge, takesBack: false })
  const output = { text: '', thought: '' }

  function written(news: SaidNews): string {
    if (news.retracts) {
      // All words so far were thinking; a package cannot take back what was written as an event.
      output.thought += output.text
      output.text = ''
    }
    const said = { text: news.text, thought: thoughtIn(news) }
    if (said.text === '' && said.thought === '') return ''
    if (stream) return form.news(said)
    output.text += said.text
    output.thought += said.thought
    return ''
  }

  function takeAll(all: readonly Frame[]): string {
    return all
      .flatMap(chatFrames)
      .map((frame) => written(reader.take(frame)))
      .join('')
  }

  return {
    take: (bytes: Uint8Array): string => takeAll(frames.take(bytes)),
    end(): string {
      const read = takeAll(frames.end())
      const last = reader.end()
      const events = read + written(last)
      const { calls } = normalCalls(last.calls, { newId, from: '' })
      const answer = {
        ...output,
        id: reader.head().id || 'answer',
        calls: calls.map(({ id, function: called }) => ({ id, ...called })),
        end: last.end,
        usage: packagedUsage(last.usage),
      }
      return stream ? events + form.end(answer) : form.whole(answer)
    },
  }
}

/** The words of the thinking in an event. Pure. */
export function thoughtIn({ thoughts }: SaidNews): string {
  return thoughts
    .map(({ text, summary }) => [text, summary].find((one) => typeof one === 'string') ?? '')
    .join('')
}

function packagedUsage(written: Readonly<Record<string, unknown>> | null): PackagedUsage {
  const usage = usageFrom(written)
  const ofAnswer = membersOf(written?.['completion_tokens_details'])
  return {
    prompt: usage?.promptTokens ?? 0,
    answer: usage?.completionTokens ?? 0,
    cached: usage?.cachedTokens ?? 0,
    reasoning: countIn(ofAnswer['reasoning_tokens']) ?? 0,
  }
}
