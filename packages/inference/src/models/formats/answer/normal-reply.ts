import { createByteStream, pipeBytes } from '../../wire/byte-stream.ts'
import type { ByteFlow, ByteSink, ByteStream } from '../../wire/byte-stream.ts'
import { spendIn } from '../../wire/collect-reply.ts'
import type { CallBounds, JudgeError, ProviderReply } from '../../llm-provider.ts'
import type { Secret } from '@flotilla/egress/credentials'
import { createAnswerFrames } from './answer-frames.ts'
import type { Frame } from './event-lines.ts'
import { createAnswerReader } from './answer-reader.ts'
import type { SaidNews } from './answer-reader.ts'
import { thoughtOf } from './thoughts.ts'
import { endChunks, firstChunk, newsChunk, normalCalls, wholeNormal } from './write-normal.ts'

export interface NormalReplyOptions {
  /** Whether the client asked for a stream; the form of the provider's answer is detected from its bytes. */
  readonly stream: boolean
  readonly model: string
  /** The name of the provider. */
  readonly from: string
  readonly secrets: readonly Secret[]
  readonly newId: () => string
  readonly createdSeconds: number
  readonly bounds?: CallBounds | undefined
  readonly judge?: JudgeError | undefined
}

/**
 * Converts any provider's answer to the normal form. An unreadable answer fails with the Problem
 * `provider-unreadable`; it never becomes an empty answer.
 */
export function normalReply(reply: ProviderReply, options: NormalReplyOptions): ProviderReply {
  return {
    ...reply,
    contentType: options.stream ? 'text/event-stream' : 'application/json',
    body: normalBody(reply, options),
  }
}

function normalBody(reply: ProviderReply, options: NormalReplyOptions): ByteStream {
  return createByteStream((sink) => {
    let hasRoom = true
    const writer = createNormalWriter(options, (text) => {
      hasRoom = sink.write(Buffer.from(text))
    })
    let isOver = false
    let flow: ByteFlow | null = null

    function attempt(work: () => void): void {
      if (isOver) return
      try {
        spendIn(options.bounds, work)
      } catch (error) {
        fail(error)
      }
    }

    function fail(error: unknown): void {
      if (isOver) return
      isOver = true
      sink.fail(error)
      flow?.cut()
    }

    const inner: ByteSink = {
      write: (bytes) => {
        attempt(() => writer.take(bytes))
        return hasRoom && !isOver
      },
      end: () => {
        attempt(() => writer.end())
        if (isOver) return
        isOver = true
        sink.end()
      },
      fail,
    }
    const piped = pipeBytes(reply.body, inner)
    flow = piped
    // The bytes that arrived during `pipeBytes` may have been unreadable already.
    if (isOver) piped.cut()
    return {
      resume: () => {
        hasRoom = true
        piped.resume()
      },
      cut: () => piped.cut(),
    }
  })
}

/** Converts the bytes of an answer to the normal form; writes all content that precedes an unreadable part. */
export function createNormalWriter(options: NormalReplyOptions, write: (text: string) => void) {
  const frames = createAnswerFrames()
  const reader = createAnswerReader(options)
  const output: { text: string; thoughts: SaidNews['thoughts'][number][] } = { text: '', thoughts: [] }

  let hasBegun = false

  function begun(text: string): string {
    if (text === '' || hasBegun) return text
    hasBegun = true
    return firstChunk(head()) + text
  }

  function head() {
    const { id, model } = reader.head()
    return {
      id: id === '' ? 'answer' : id.slice(0, 128).toWellFormed(),
      model: model === '' ? options.model : model.slice(0, 200).toWellFormed(),
      createdSeconds: options.createdSeconds,
    }
  }

  function takeAll(all: readonly Frame[]): void {
    let text = ''
    try {
      for (const frame of all) {
        const news = reader.take(frame)
        if (options.stream) text += begun(newsChunk(head(), news))
        else {
          if (news.retracts) {
            output.thoughts.push(thoughtOf(output.text, { field: 'think_tag', from: options.from }))
            output.text = ''
          }
          output.text += news.text
          output.thoughts.push(...news.thoughts)
        }
      }
    } finally {
      if (text !== '') write(text)
    }
  }

  return {
    take: (bytes: Uint8Array): void => takeAll(frames.take(bytes)),
    end(): void {
      takeAll(frames.end())
      const end = reader.end()
      const made = normalCalls(end.calls, options)
      if (options.stream) write(begun(endChunks(head(), end, made)))
      else write(wholeNormal(head(), { said: { ...output, retracts: false, usage: null }, end, made }))
    },
  }
}
