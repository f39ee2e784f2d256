import { Transform } from 'node:stream'
import { Problem } from '@flotilla/protocol/problem'
import type { AnswerScrub } from '../credentials/index.ts'
import type { AnswerFilter } from './terminate/forward-inspected.ts'

/** How much text is searched at once, in characters: a few milliseconds of the event loop. */
const pieceMaxChars = 16 * 1024

const textTypes =
  /^(?:text\/|application\/(?:[\w.+-]*json|[\w.+-]*xml|javascript|x-www-form-urlencoded|graphql|x-ndjson|yaml|x-yaml))/i

/** Passes answers unchanged. */
export const unchanged: AnswerFilter = { headers: (raw) => raw, body: () => null }

/**
 * Removes the values of credentials from an answer: from its headers, and from its body while it streams. Text loses
 * them in every spelling that `Scrub` knows; in other bodies they are overwritten. A header whose name contains a value is left out.
 */
export function cleanAnswer(
  scrub: AnswerScrub,
  /** Runs work and charges its processor time to the agent. */
  spend: <T>(work: () => T) => T,
): AnswerFilter {
  return {
    headers: (raw) => {
      const encoding = valueOf(raw, 'content-encoding')
      if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
        throw new Problem('upstream-failed', {
          detail: `the server compressed its answer (${spend(() => scrub.text.text(encoding)).slice(0, 50)}) although the request accepts none, so credentials cannot be removed from it`,
        })
      }
      const isText = textTypes.test(valueOf(raw, 'content-type') ?? '')
      const cleaned: string[] = []
      for (let at = 0; at + 1 < raw.length; at += 2) {
        const name = raw[at] ?? ''
        // The text may become shorter.
        if (isText && name.toLowerCase() === 'content-length') continue
        // A name in which a value was replaced would be invalid, and tells the program nothing.
        if (spend(() => scrub.text.isIn(name))) continue
        cleaned.push(
          name,
          spend(() => scrub.text.text(raw[at + 1] ?? '')),
        )
      }
      return cleaned
    },
    body: (raw) =>
      textTypes.test(valueOf(raw, 'content-type') ?? '')
        ? textStream(scrub, spend)
        : byteStream(scrub, spend),
  }
}

/**
 * Cleans text as it streams. The end of what has arrived is held back as far as one value can reach, because a value
 * may continue in the next piece. Bytes are read as one character each, so that nothing else changes.
 */
function textStream({ text: scrub }: AnswerScrub, spend: <T>(work: () => T) => T): Transform {
  let held = ''
  function take(text: string, isEnd: boolean): string {
    held += text
    const ranges = scrub.find(held)
    let end = isEnd ? held.length : Math.max(0, held.length - scrub.reachChars)
    for (const { from, to } of ranges) if (from < end && end < to) end = from
    const parts: string[] = []
    let done = 0
    for (const { from, to } of ranges) {
      if (to > end) break
      parts.push(held.slice(done, from), '[secret]')
      done = to
    }
    parts.push(held.slice(done, end))
    held = held.slice(end)
    return parts.join('')
  }
  return new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      for (let at = 0; at < chunk.length; at += pieceMaxChars) {
        const piece = chunk.toString('latin1', at, at + pieceMaxChars)
        const clean = spend(() => take(piece, false))
        if (clean !== '') this.push(Buffer.from(clean, 'latin1'))
      }
      callback()
    },
    flush(callback) {
      callback(
        null,
        Buffer.from(
          spend(() => take('', true)),
          'latin1',
        ),
      )
    },
  })
}

/** Overwrites values in a body that is not text; the length stays. */
function byteStream({ bytes: scrub }: AnswerScrub, spend: <T>(work: () => T) => T): Transform {
  let held: Buffer = Buffer.alloc(0)
  return new Transform({
    transform(chunk: Buffer, _encoding, callback) {
      const bytes = Buffer.concat([held, chunk])
      spend(() => scrub.clean(bytes))
      const end = Math.max(0, bytes.length - Math.max(0, scrub.reachBytes - 1))
      held = bytes.subarray(end)
      callback(null, bytes.subarray(0, end))
    },
    flush(callback) {
      callback(null, held)
    },
  })
}

function valueOf(raw: readonly string[], name: string): string | undefined {
  for (let at = 0; at + 1 < raw.length; at += 2) if (raw[at]?.toLowerCase() === name) return raw[at + 1]
  return undefined
}
