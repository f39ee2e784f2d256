import { joinThoughts } from '@flotilla/protocol/thoughts'
import type { Thought } from '@flotilla/protocol/normal-answer'
import type { Secret } from '@flotilla/egress/credentials'
import { createAnswerFrames } from '../answer/answer-frames.ts'
import type { Frame } from '../answer/event-lines.ts'
import type { JudgeError } from '../../llm-provider.ts'
import { createAnswerReader } from '../answer/answer-reader.ts'
import { thoughtOf } from '../answer/thoughts.ts'
import { normalCalls } from '../answer/write-normal.ts'
import type { UsageRule } from '../usage.ts'
import { createMessageEvents, messageFromNormal } from './message-events.ts'

export interface MessageOptions {
  /** Whether the client asked for a stream; the form of the provider's answer is detected from its bytes. */
  readonly stream: boolean
  readonly model: string
  readonly rule?: UsageRule
  readonly secrets?: readonly Secret[]
  /** The name of the provider. */
  readonly from?: string
  readonly newId: () => string
  readonly judge?: JudgeError | undefined
}

/** Tool call ids that Anthropic's clients and servers accept. */
const takenId = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * Converts the bytes of a chat completion to those of a message: events of a stream, or one JSON text at the end.
 * Throws the Problems of the answer reader.
 */
export function createMessageWriter({
  stream,
  model,
  rule = {},
  secrets = [],
  from = '',
  newId,
  judge,
}: MessageOptions) {
  const frames = createAnswerFrames()
  const reader = createAnswerReader({ secrets, from, judge, takesBack: false })
  const events = createMessageEvents(model, rule)
  let text = ''
  const thoughts: Thought[] = []

  function takeAll(all: readonly Frame[]): string {
    let out = ''
    for (const frame of all) {
      const news = reader.take(frame)
      const isNews = news.text !== '' || news.thoughts.length > 0
      if (stream) out += isNews ? events.news(news, reader.head().id) : ''
      else {
        if (news.retracts) {
          thoughts.push(thoughtOf(text, { field: 'think_tag', from }))
          text = ''
        }
        text += news.text
        thoughts.push(...news.thoughts)
      }
    }
    return out
  }

  return {
    take: (bytes: Uint8Array): string => takeAll(frames.take(bytes)),
    end(): string {
      const last = takeAll(frames.end())
      const end = reader.end()
      const made = normalCalls(end.calls, { newId, from, keeps: takenId })
      const { id } = reader.head()
      if (stream) return last + events.end(end, id, made)
      const output = {
        text: text + end.text,
        thoughts: joinThoughts([...thoughts, ...end.thoughts, ...made.seals]),
      }
      return messageFromNormal({ id, model }, output, { end, made, rule })
    },
  }
}
