import { messagesUsageFrom } from './messages-usage.ts'
import { parsedData } from './sse-parser.ts'
import type { StreamForm } from './sse-parser.ts'

const endMark = Buffer.from('event: message_stop')

/**
 * Reads the usage from the stream of a message: the first event reports the prompt, the last one the answer, and the
 * last may correct the first. All bytes are forwarded unchanged. Create one per stream.
 */
export function createMessagesStream(): StreamForm {
  let reported: Record<string, unknown> = {}
  return {
    endMark,
    isEnd: (data, from, end) =>
      end - from >= endMark.length &&
      data.compare(endMark, 0, endMark.length, from, from + endMark.length) === 0,
    tell(event, progress) {
      const data = parsedData(event)
      if (data?.['type'] === 'message_start') {
        reported = present(objectIn(objectIn(data['message'])['usage']))
      } else if (data?.['type'] === 'message_delta') {
        reported = { ...reported, ...present(objectIn(data['usage'])) }
        progress.usage = messagesUsageFrom(reported) ?? progress.usage
        if (typeof objectIn(data['delta'])['stop_reason'] === 'string') progress.isOver = true
      }
      return event
    },
  }
}

function present(usage: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== null))
}

function objectIn(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** Converts a whole message to the events of a stream; each block is complete in its first event. Pure. */
export function messageAsEvents(body: Uint8Array): Uint8Array {
  const message = objectIn(JSON.parse(Buffer.from(body).toString('utf8')))
  const { content, stop_reason, stop_sequence, usage } = message
  const blocks = Array.isArray(content) ? (content as unknown[]) : []
  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null, stop_sequence: null } },
    ...blocks.flatMap((content_block, index) => [
      { type: 'content_block_start', index, content_block },
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
    { type: 'message_stop' },
  ]
  return Buffer.from(
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''),
  )
}
