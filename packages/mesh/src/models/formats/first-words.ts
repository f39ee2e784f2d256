import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '../../intake/index.ts'
import { isRecord } from './empty-answer.ts'
import { dataOf } from './sse-parser.ts'
import { createWholeEvents, endsInReturns, eventEnd } from './whole-events.ts'

interface FirstWords {
  /** Whether an event of these bytes has said something. Throws what `isSpoken` throws. */
  hears(bytes: Uint8Array): boolean
  /** Whether a line of what came without the blank line that ends an event says something. Throws what `isSpoken` throws. */
  saidAtEnd(): boolean
}

/** Tells from pieces of any size whether an event has said something. Made for each stream. */
export function createFirstWords(isSpoken: (event: Buffer) => boolean): FirstWords {
  const events = createWholeEvents()
  return {
    hears(bytes) {
      const data = events.take(bytes)
      if (data === null) return endsInReturns(events.rest())
      // Usually the first event has words, and no other is read.
      let from = 0
      for (let end = eventEnd(data, from); end !== -1; end = eventEnd(data, from)) {
        if (isSpoken(data.subarray(from, end))) return true
        from = end
      }
      return false
    },
    saidAtEnd() {
      const lines =
        events
          .rest()
          ?.toString('utf8')
          .split(/[\r\n]+/) ?? []
      return lines.some((line) => isObject(line) && isSpoken(Buffer.from(line)))
    },
  }
}

function isObject(line: string): boolean {
  return isRecord(readJsonQuietly(dataOf(Buffer.from(line)), jsonLimits.modelAnswer))
}
