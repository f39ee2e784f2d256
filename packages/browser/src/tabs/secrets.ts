/** Values that were typed and are never told: kept as long as this browser lives, to be taken out of whatever leaves. */
export interface Secrets {
  add(value: string): void
  /** The text without any of them, in the spellings in which pages carry them on. */
  scrub(text: string): string
}

const mark = '[secret]'
/** More than an agent has. Beyond them none is typed: one that was forgotten would be shown. */
const secretsMax = 200

export function createSecrets(): Secrets {
  const spellings = new Set<string>()
  return {
    add(value) {
      if (spellings.size >= secretsMax * 4) throw new Error('too many secrets were typed into this browser')
      const encoded = encodeURIComponent(value)
      const all = [value, encoded, encoded.replaceAll('%20', '+'), Buffer.from(value).toString('base64')]
      for (const spelling of all) if (spelling !== '') spellings.add(spelling)
    },
    scrub(text) {
      // Longest first, so that no part of one is left beside the mark of another.
      const sorted = [...spellings].toSorted((one, other) => other.length - one.length)
      return sorted.reduce((clean, spelling) => clean.replaceAll(spelling, mark), text)
    },
  }
}
