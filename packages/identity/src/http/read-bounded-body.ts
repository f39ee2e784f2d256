import type { IncomingMessage } from 'node:http'
import type { Clock } from '@flotilla/protocol/clock'
import { Problem } from '@flotilla/protocol/problem'

export interface BodyBounds {
  readonly maxBytes: number
  /** Time limit for the whole body after its headers, in milliseconds. */
  readonly maxMs: number
  /** The maximum bytes of all bodies that are held at once. */
  readonly heldMaxBytes: number
  /** The part of these bytes that one route may hold: a flood on one does not block the others. */
  readonly heldPerPlaceMaxBytes: number
}

export interface BodyReader {
  /**
   * Reads the whole body of a request. Problems `body-too-large` once more than `maxBytes` arrived, whatever length
   * was announced; `body-late`; `rate-limited` if too many bytes are held already; `bad-request` if the sender
   * disconnected.
   */
  read(request: IncomingMessage, place: string, tooLarge: () => Problem): Promise<Buffer>
}

/**
 * Reads bodies of unauthenticated senders: the limit applies to the received bytes and not to the announced
 * length.
 */
export function createBodyReader(bounds: BodyBounds, clock: Clock): BodyReader {
  let held = 0
  const heldAt = new Map<string, number>()

  function hold(place: string, bytes: number): void {
    held += bytes
    const there = (heldAt.get(place) ?? 0) + bytes
    if (there > 0) heldAt.set(place, there)
    else heldAt.delete(place)
  }

  function isTooMuch(place: string): boolean {
    return held > bounds.heldMaxBytes || (heldAt.get(place) ?? 0) > bounds.heldPerPlaceMaxBytes
  }

  return {
    async read(request, place, tooLarge) {
      const done = new AbortController()
      const parts: Buffer[] = []
      let size = 0
      try {
        return await new Promise<Buffer>((resolve, reject) => {
          const late = () =>
            reject(new Problem('body-late', { detail: `the body took longer than ${bounds.maxMs} ms` }))
          // Most bodies arrive with their headers and are complete before a timer would be needed.
          const soon = setImmediate(() => clock.sleep(bounds.maxMs, done.signal).then(late, () => undefined))
          done.signal.addEventListener('abort', () => clearImmediate(soon))
          listen(request, done.signal, {
            part: (part) => {
              size += part.length
              hold(place, part.length)
              if (size > bounds.maxBytes) return reject(tooLarge())
              if (isTooMuch(place)) return reject(tooMuchHeld())
              parts.push(part)
            },
            end: () => resolve(Buffer.concat(parts, size)),
            broken: () =>
              reject(
                new Problem('bad-request', {
                  detail: 'the connection ended before the whole body had arrived',
                }),
              ),
          })
        })
      } finally {
        hold(place, -size)
        done.abort()
      }
    },
  }
}

function listen(
  request: IncomingMessage,
  signal: AbortSignal,
  handlers: { part: (bytes: Buffer) => void; end: () => void; broken: () => void },
): void {
  const listeners = { data: handlers.part, end: handlers.end, error: handlers.broken, close: handlers.broken }
  for (const [event, listener] of Object.entries(listeners)) request.on(event, listener)
  signal.addEventListener('abort', () => {
    for (const [event, listener] of Object.entries(listeners)) request.off(event, listener)
    // The rest of the body is not read; an error event without a listener would end the mesh.
    request.on('error', () => undefined)
    request.pause()
  })
}

function tooMuchHeld(): Problem {
  return new Problem('rate-limited', {
    detail: 'the mesh is receiving too many webhook deliveries at once',
    retryAfterSeconds: 5,
  })
}
