import { createByteStream, pipeBytes } from '../wire/byte-stream.ts'
import type { ByteFlow, ByteSink } from '../wire/byte-stream.ts'
import type { ProviderReply } from '../llm-provider.ts'

/** The first bytes of a stream of events: a byte order mark and blanks, then a known field. */
const beginsAsEvents = /^(?:\xef\xbb\xbf)?\s*(?:data|event|id|retry)?\s*:/
/** The bytes that decide; the longest field name with its colon, a byte order mark and some blanks are shorter. */
const decidingBytes = 32

/**
 * Passes a stream to a program byte for byte if it begins as events, whatever type the provider declares. Any other
 * body is rewritten by `normal`, because official clients read JSON or a page in its place as an empty answer.
 */
export function eventsOrNormal(
  reply: ProviderReply,
  normal: (reply: ProviderReply) => ProviderReply,
): ProviderReply {
  const body = createByteStream((sink) => {
    let held: Uint8Array[] = []
    let target: ByteSink | null = null
    let flow: ByteFlow | null = null
    let outer: ByteFlow | null = null

    function decide(isEnd: boolean): boolean {
      const head = Buffer.concat(held).subarray(0, decidingBytes).toString('latin1')
      if (beginsAsEvents.test(head)) target = sink
      else if (isEnd || head.length === decidingBytes || isCertain(head)) outer = pipeBytes(rewritten(), sink)
      else return true
      const pieces = held
      held = []
      return pieces.map((bytes) => target?.write(bytes) ?? true).every(Boolean)
    }

    /** Returns the body in the normal form, made from the held bytes and all bytes that follow. */
    function rewritten(): AsyncIterable<Uint8Array> {
      const source = createByteStream((to) => {
        target = to
        return { resume: () => flow?.resume(), cut: () => flow?.cut() }
      })
      return normal({ ...reply, body: source }).body
    }

    flow = pipeBytes(reply.body, {
      write(bytes) {
        if (target) return target.write(bytes)
        held.push(Uint8Array.from(bytes))
        return decide(false)
      },
      end() {
        if (!target) decide(true)
        target?.end()
      },
      fail: (error) => (target ?? sink).fail(error),
    })
    return {
      resume: () => (outer ?? flow)?.resume(),
      cut: () => (outer ?? flow)?.cut(),
    }
  })
  return { ...reply, contentType: 'text/event-stream', body }
}

/** Whether the bytes so far cannot become a field of an event. */
function isCertain(head: string): boolean {
  const text = head.replace(/^\xef\xbb\xbf/, '').trimStart()
  return text !== '' && !['data:', 'event:', 'id:', 'retry:'].some((field) => field.startsWith(text))
}
