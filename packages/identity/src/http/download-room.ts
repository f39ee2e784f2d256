import type { FastifyReply } from 'fastify'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '../access/index.ts'
import { clientGone, clientWentAway } from './client-gone.ts'
import { readerOf } from './socket-room.ts'
import type { SocketReader } from './socket-room.ts'

/**
 * Limits of responses that the mesh buffers completely while a client downloads them: files, artifacts and
 * logs of agents.
 */
export const downloadLimits = {
  /** Concurrent downloads of one person. */
  perPersonMax: 4,
  /** Concurrent downloads of all people; one person's number of them is reserved for the owner of this mesh. */
  totalMax: 16,
  /** A reader that takes no byte for this time, in milliseconds, is disconnected. */
  stalledMaxMs: 30_000,
  /** A slow reader is disconnected after this total time, in milliseconds. */
  takingMaxMs: 15 * 60_000,
} as const

/** Seconds after which a rejected client may retry. */
const refusedRetrySeconds = 5

type Taker = SocketReader['person']

/** Returns the reason why `by` cannot start another download, as text; null if `by` can. Pure. */
export function downloadObstacle(open: readonly Taker[], by: Taker): string | null {
  const { perPersonMax, totalMax } = downloadLimits
  if (open.filter((person) => person === by).length >= perPersonMax)
    return `${by ?? 'the owner'} has ${perPersonMax} downloads in progress, the maximum for one person`
  const namedMax = totalMax - perPersonMax
  if (by !== null && open.filter((person) => person !== null).length >= namedMax)
    return `${namedMax} downloads are in progress, the maximum for all people`
  return null
}

export interface DownloadRoom {
  /**
   * Reads a response in a slot that is held until the read has ended and the response is closed by either
   * side. After the read, a reader that takes nothing is disconnected. `gone` aborts when the reader
   * disconnects. Throws the Problem `rate-limited`, before anything is read, if `caller` or all callers
   * together use all their slots.
   */
  pass<T>(
    by: { readonly caller: Caller; readonly reply: FastifyReply },
    read: (gone: AbortSignal) => Promise<T>,
  ): Promise<T>
}

export function createDownloadRoom(
  waits: { readonly stalledMaxMs: number; readonly takingMaxMs: number } = downloadLimits,
): DownloadRoom {
  const open = new Set<{ readonly person: Taker }>()
  return {
    pass: async ({ caller, reply }, read) => {
      const { raw } = reply
      if (raw.destroyed) throw clientWentAway
      const place = { person: readerOf(caller).person }
      const obstacle = downloadObstacle(
        [...open].map(({ person }) => person),
        place.person,
      )
      if (obstacle !== null) {
        throw new Problem('rate-limited', {
          detail: obstacle,
          repair: 'Wait until a download has ended, or cancel one; then start this download again.',
          retryAfterSeconds: refusedRetrySeconds,
        })
      }
      open.add(place)
      const gone = clientGone(reply)
      const closed = new Promise<void>((resolve) => raw.once('close', resolve))
      const reading = read(gone)
      void Promise.allSettled([reading, closed]).then(() => open.delete(place))
      try {
        return await reading
      } finally {
        destroyIdle(raw, waits)
      }
    },
  }
}

/**
 * Runs until the response is closed. Idle time is measured on the socket, which knows how much the reader
 * has taken.
 */
function destroyIdle(
  raw: FastifyReply['raw'],
  { stalledMaxMs, takingMaxMs }: { readonly stalledMaxMs: number; readonly takingMaxMs: number },
): void {
  if (raw.destroyed) return
  raw.setTimeout(stalledMaxMs, () => raw.destroy())
  const whole = setTimeout(() => raw.destroy(), takingMaxMs)
  raw.once('close', () => clearTimeout(whole))
}
