import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'

/** Requests of a harness that wait for an answer at the same time. */
export const openRequestsMax = 16
/** Longest identifier of a request, in characters. */
const idMaxChars = 200
/** Messages that no correct harness sends; with one more the connection ends. */
export const wrongMessagesMax = 100

const errors = {
  unknown: { code: -32_601, message: 'The client does not offer this method.' },
  tooMany: { code: -32_000, message: `More than ${openRequestsMax} requests wait for an answer.` },
} as const

/**
 * Filters the messages between the SDK and a harness, which may send anything. Only what a run needs passes: answers to requests that
 * were made and not answered yet, and the requests of `served`. Notifications go to `onUpdate`, one after the other and
 * before any later answer. Everything else is refused or dropped, and counted.
 */
export function guardMessages(
  stream: Stream,
  guarded: {
    readonly served: ReadonlySet<string>
    readonly onUpdate: (params: unknown) => void
  },
): Stream {
  const writer = stream.writable.getWriter()
  /** Requests of the agent without an answer. */
  const asked = new Set<unknown>()
  /** Requests of the harness without an answer. */
  const open = new Set<unknown>()
  let wrong = 0

  const refuse = (id: string | number, error: (typeof errors)[keyof typeof errors]): void => {
    writer.write({ jsonrpc: '2.0', id, error }).catch(() => undefined)
  }
  /** Returns whether the message may reach the SDK. */
  const admit = (message: Readonly<Record<string, unknown>>): boolean | 'wrong' => {
    const { id, method } = message
    if (typeof method !== 'string') return 'id' in message && asked.delete(id) ? true : 'wrong'
    if (!('id' in message)) {
      if (method === 'session/update') guarded.onUpdate(message['params'])
      // Other notifications are extensions of the protocol, which a client may ignore.
      return false
    }
    if (!isRequestId(id) || open.has(id)) return 'wrong'
    if (!guarded.served.has(method)) {
      refuse(id, errors.unknown)
      return 'wrong'
    }
    if (open.size >= openRequestsMax) {
      refuse(id, errors.tooMany)
      return 'wrong'
    }
    open.add(id)
    return true
  }
  const filter = new TransformStream<AnyMessage, AnyMessage>({
    transform: (message, controller) => {
      const verdict = isJsonObject(message) ? admit(message) : 'wrong'
      if (verdict === true) controller.enqueue(message)
      if (verdict === 'wrong' && ++wrong > wrongMessagesMax)
        controller.error(
          new Error(`the harness sent more than ${wrongMessagesMax} messages that answer nothing`),
        )
    },
  })
  return {
    readable: stream.readable.pipeThrough(filter),
    writable: new WritableStream<AnyMessage>({
      write: async (message) => {
        if ('method' in message && 'id' in message) asked.add(message.id)
        else if ('id' in message) open.delete(message.id)
        await writer.write(message)
      },
      close: async () => writer.close(),
      abort: async (reason) => writer.abort(reason),
    }),
  }
}

function isRequestId(id: unknown): id is string | number {
  return typeof id === 'number' || (typeof id === 'string' && id.length <= idMaxChars)
}
