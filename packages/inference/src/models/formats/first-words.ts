import { jsonLimits } from '@flotilla/protocol/limits'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { isRecord } from './empty-answer.ts'
import { dataOf } from './sse-parser.ts'
import { createWholeEvents, endsInReturns, eventEnd } from './whole-events.ts'

interface FirstWords {
  /** Whether an event that these bytes complete has content. Throws what `isContent` throws. */
  hasContent(bytes: Uint8Array): boolean
  /** Whether a line of the last, unterminated event has content. Throws what `isContent` throws. */
  hasContentAtEnd(): boolean
}

/** Detects the first event with content, from pieces of any size. Create one per stream. */
export function createFirstWords(isContent: (event: Buffer) => boolean): FirstWords {
  const events = createWholeEvents()
  return {
    hasContent(bytes) {
      const data = events.take(bytes)
      if (data === null) return endsInReturns(events.rest())
      // Usually the first event has content, so no further event is read.
      let from = 0
      for (let end = eventEnd(data, from); end !== -1; end = eventEnd(data, from)) {
        if (isContent(data.subarray(from, end))) return true
        from = end
      }
      return false
    },
    hasContentAtEnd() {
      const lines =
        events
          .rest()
          ?.toString('utf8')
          .split(/[\r\n]+/) ?? []
      return lines.some((line) => isObject(line) && isContent(Buffer.from(line)))
    },
  }
}

function isObject(line: string): boolean {
  return isRecord(readJsonQuietly(dataOf(Buffer.from(line)), jsonLimits.modelAnswer))
}
