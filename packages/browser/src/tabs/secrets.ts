import { createScrubs, merged, replaceRanges, secretMark } from '@flotilla/protocol/secret-text/scrub'
import type { Range } from '@flotilla/protocol/secret-text/scrub'

/** The values that were typed into this browser. They are kept as long as the container runs, to be found in whatever leaves it. */
export interface Secrets {
  add(value: string): void
  /** False until a value was typed: then no text and no page has to be searched. */
  readonly any: boolean
  /** Where values are written in the text, in the spellings in which pages carry them on. */
  find(text: string): readonly Range[]
  /** The text without any of them. To be called before a text is cut: of a part of a value nothing is found. */
  scrub(text: string): string
  /** The same for a text that was cut at its end, where the beginning of a value may be left. */
  scrubCut(text: string): string
}

/** More than an agent has. Beyond them none is typed: one that was forgotten would be shown. */
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

/** A short value is found as it is written and as addresses carry it: other spellings would be found in ordinary words. */
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
