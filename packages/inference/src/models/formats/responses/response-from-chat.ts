import { joinThoughts } from '@flotilla/protocol/thoughts'
import type { Thought } from '@flotilla/protocol/normal-answer'
import type { Secret } from '@flotilla/egress/credentials'
import type { JudgeError } from '../../llm-provider.ts'
import { createAnswerFrames } from '../answer/answer-frames.ts'
import { createAnswerReader } from '../answer/answer-reader.ts'
import type { AnswerEnd, SaidNews } from '../answer/answer-reader.ts'
import type { Frame } from '../answer/event-lines.ts'
import { thoughtOf } from '../answer/thoughts.ts'
import { normalCalls } from '../answer/write-normal.ts'
import type { UsageRule } from '../usage.ts'
import { createResponseEvents } from './response-events.ts'
import type { ResponseHead } from './response-object.ts'
import type { ResponseTools } from './response-tools.ts'

interface ResponseOptions {
  /** Whether the client asked for a stream; the form of the provider's answer is detected from its bytes. */
  readonly stream: boolean
  readonly head: ResponseHead
  readonly tools: ResponseTools
  readonly rule: UsageRule
  readonly secrets: readonly Secret[]
  /** The name of the provider. */
  readonly from: string
  readonly newId: (start: string) => string
  readonly judge?: JudgeError | undefined
}

/**
 * Converts the bytes of a chat completion to those of a response: events of a stream, or one JSON text at the end.
 * Throws the Problems of the answer reader.
 */
export function createResponseWriter({
  stream,
  head,
  tools,
  rule,
  secrets,
  from,
  newId,
  judge,
}: ResponseOptions) {
  const frames = createAnswerFrames()
  const reader = createAnswerReader({ secrets, from, judge, takesBack: false })
  const events = createResponseEvents({ head, tools, rule, newId })
  let text = ''
  const thoughts: Thought[] = []

  function takeAll(all: readonly Frame[]): string {
    let out = ''
    for (const frame of all) {
      const news = reader.take(frame)
      if (!stream) keep(news)
      else if (news.text !== '' || news.thoughts.length > 0) out += events.news(news)
    }
    return out
  }

  function keep(news: SaidNews): void {
    if (news.retracts) {
      thoughts.push(thoughtOf(text, { field: 'think_tag', from }))
      text = ''
    }
    text += news.text
    thoughts.push(...news.thoughts)
  }

  function wholeEnd(end: AnswerEnd): AnswerEnd {
    return { ...end, text: text + end.text, thoughts: joinThoughts([...thoughts, ...end.thoughts]) }
  }

  return {
    take: (bytes: Uint8Array): string => takeAll(frames.take(bytes)),
    end(): string {
      const last = takeAll(frames.end())
      const end = reader.end()
      const made = normalCalls(end.calls, { newId: () => newId('call_'), from })
      if (stream) return last + events.end(end, made).events
      return JSON.stringify(events.end(wholeEnd(end), made).response)
    },
  }
}
