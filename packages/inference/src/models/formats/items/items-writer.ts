import { Problem } from '@flotilla/protocol/problem'
import { createAnswerFrames } from '../answer/answer-frames.ts'
import type { Frame } from '../answer/event-lines.ts'
import { unreadable } from '../answer/unreadable.ts'
import { wireValues } from '../answer/wire-values.ts'
import { membersOf } from '../claude/claude-message.ts'
import type { Members } from '../claude/claude-message.ts'
import { createItemsFromChat, isOfChat } from './items-from-chat.ts'
import { createItemsMender } from './items-mender.ts'
import type { ItemsOptions } from './items-mender.ts'

/** Data of events that only keep a connection open. */
const keepAlive = /^(?:ping|pong|heartbeat|keep-?alive|null|\{\s*\}|\[\s*\])?$/i
/** The mark at the end of a stream that some proxies add, as chat completions have it. */
const doneMark = /^\[?done\]?$/i

/**
 * Reads an answer of OpenAI's Responses API, whole or streamed, and writes it in the form that was asked for: the
 * documented events, or one response at the end. A call of the provider's tool search becomes a call of `find_tools`, so
 * that a conversation has one form for all providers. An answer of chat completions is read as one. Throws the Problem
 * `provider-unreadable`.
 */
export function createItemsWriter({
  stream,
  secrets = [],
  billed,
}: Partial<ItemsOptions> & { readonly stream: boolean }) {
  const frames = createAnswerFrames()
  const mender = createItemsMender({ secrets, billed })
  let chat: ReturnType<typeof createItemsFromChat> | null = null
  let sequence = 0

  function printed(events: readonly Members[]): string {
    if (!stream) return ''
    return events
      .map((one) => `data: ${JSON.stringify({ ...one, sequence_number: sequence++ })}\n\n`)
      .join('')
  }

  function mended(events: readonly Members[]): string {
    return printed(events.flatMap((value) => mender.take(value, { written: value, event: '' })))
  }

  function takeFrame(frame: Frame): string {
    const { event, data } = frame
    if (chat !== null) return mended(chat.take(frame))
    const text = data.trim()
    if (doneMark.test(text)) mender.sawDone()
    if (keepAlive.test(text) || doneMark.test(text) || event === 'stray') return ''
    const values = wireValues(text, secrets)
    if (!mender.hasAny() && values.some(({ value }) => isOfChat(value))) {
      chat = createItemsFromChat(secrets)
      return mended(chat.take(frame))
    }
    return printed(
      values.flatMap(({ value, written }) => mender.take(value, { written: membersOf(written), event })),
    )
  }

  return {
    take: (bytes: Uint8Array): string => frames.take(bytes).map(takeFrame).join(''),
    end(): string {
      const rest = frames.end().map(takeFrame).join('')
      const read = chat === null ? rest : rest + mended(chat.end())
      if (!mender.hasAny()) {
        const strange = mender.strange()
        throw unreadable(strange === '' ? 'it has no events of a response' : `an object of ${strange}`)
      }
      const last = printed(mender.end())
      if (stream) return read + last
      const whole = mender.whole()
      if (whole === null) throw new Problem('upstream-failed', { detail: 'the model ended its answer early' })
      return JSON.stringify(whole)
    },
  }
}
