import { createScrubs, merged, replaceRanges, secretMark } from '@flotilla/protocol/secret-text/scrub'
import type { Range } from '@flotilla/protocol/secret-text/scrub'

/** The secrets that were typed into this browser, kept while the container runs, to find them in all output. */
export interface Secrets {
  add(value: string): void
  /** False until a secret was typed; until then no text or page must be searched. */
  readonly any: boolean
  /** Returns where the text contains secrets, also in encodings that pages use. */
  find(text: string): readonly Range[]
  /** Removes all secrets. Must be called before the text is cut, because a part of a secret is not found. */
  scrub(text: string): string
  /** Removes all secrets from a cut text, and its last characters, which may be the beginning of a secret. */
  scrubCut(text: string): string
}

/** The maximum number of secrets, more than an agent has. Above it typing fails, so that none is forgotten. */
const secretsMax = 200

interface Held {
  readonly value: string
}

const scrubFor = createScrubs<Held>(({ value }) => value)

export function createSecrets(): Secrets {
  const held = new Map<string, Held>()
  const shortSpellings = new Set<string>()
  let long = scrubFor([])

  function find(text: string): readonly Range[] {
    const short = [...shortSpellings].flatMap((spelling) => occurrences(text, spelling))
    return merged([...long.find(text), ...short])
  }

  const scrub = (text: string): string => replaceRanges(text, find(text), secretMark)

  return {
    add(value) {
      if (value === '' || held.has(value)) return
      if (held.size >= secretsMax) throw new Error('too many secrets were typed into this browser')
      held.set(value, { value })
      long = scrubFor([...held.values()])
      for (const spelling of spellingsOfShort(value)) shortSpellings.add(spelling)
    },
    get any() {
      return held.size > 0
    },
    find,
    scrub,
    scrubCut(text) {
      if (held.size === 0) return text
      const longestShort = Math.max(0, ...[...shortSpellings].map(({ length }) => length))
      const end = Math.max(0, text.length - Math.max(long.reachChars, longestShort))
      const whole = find(text).filter(({ from }) => from < end)
      return replaceRanges(text.slice(0, end), whole, secretMark)
    },
  }
}

/** Finds a short secret only as written, URL-encoded or base64, because other spellings match ordinary words. */
function spellingsOfShort(value: string): readonly string[] {
  if (scrubFor([{ value }]).reachChars > 0) return []
  const encoded = encodeURIComponent(value.toWellFormed())
  return [value, encoded, encoded.replaceAll('%20', '+'), Buffer.from(value).toString('base64')]
}

function occurrences(text: string, spelling: string): Range[] {
  const found: Range[] = []
  for (let from = text.indexOf(spelling); from >= 0; from = text.indexOf(spelling, from + spelling.length))
    found.push({ from, to: from + spelling.length })
  return found
}
