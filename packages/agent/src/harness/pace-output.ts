import type { Readable } from 'node:stream'
import type { Clock } from '@flotilla/protocol/clock'

/** Longest message of a harness in bytes: room for a file that it quotes, far below the memory of an agent. */
export const messageMaxBytes = 8 * 1024 * 1024
/** Messages of a harness that are read in one period. A faster harness waits in its own pipe. */
const messagesPerPeriodMax = 1000
/** Bytes of a harness that are read in one period; more than one longest message. */
const bytesPerPeriodMax = 16 * 1024 * 1024
const periodMs = 500
const newline = 0x0a

/**
 * Reads the output of a harness no faster than the agent process can work on it beside its other duties: the lease, a
 * cancellation, the mesh. A flood fills the harness's own pipe and stops the harness, not the agent.
 */
export function paceOutput(
  output: Readable,
  clock: Clock,
  bounds = { messagesMax: messagesPerPeriodMax, bytesMax: bytesPerPeriodMax },
): ReadableStream<Uint8Array> {
  const chunks = output[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>
  const pace = createPace(clock, bounds)
  const pieces = piecesOf(chunks, pace)
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { value, done } = await pieces.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    cancel: async () => {
      output.destroy()
    },
  })
}

interface Pace {
  /** Returns how many bytes of the chunk, from `start`, may be read now; waits for the next period if none may. */
  take(chunk: Uint8Array, start: number): Promise<number>
}

function createPace(
  clock: Clock,
  { messagesMax, bytesMax }: { readonly messagesMax: number; readonly bytesMax: number },
): Pace {
  let until = 0
  let messages = 0
  let bytes = 0
  return {
    take: async (chunk, start) => {
      if (messages >= messagesMax || bytes >= bytesMax) await clock.sleep(Math.max(0, until - clock.now()))
      if (clock.now() >= until) {
        until = clock.now() + periodMs
        messages = 0
        bytes = 0
      }
      let end = start
      while (messages < messagesMax) {
        const at = chunk.indexOf(newline, end)
        if (at === -1) {
          end = chunk.length
          break
        }
        end = at + 1
        messages += 1
      }
      bytes += end - start
      return end
    },
  }
}

async function* piecesOf(chunks: AsyncIterator<Uint8Array>, pace: Pace): AsyncGenerator<Uint8Array> {
  for (;;) {
    const { value: chunk, done } = await chunks.next()
    if (done === true) return
    for (let start = 0; start < chunk.length;) {
      const end = await pace.take(chunk, start)
      if (end > start) yield chunk.subarray(start, end)
      start = end
    }
  }
}
