/** Newer than the library of types that this project is compiled against. */
interface RawJson {
  rawJSON(text: string): unknown
}

const { rawJSON } = JSON as unknown as RawJson

/**
 * The same value as `JSON.parse` makes, but a number that no float holds as it is written stays its text, and
 * `JSON.stringify` writes it so: large whole numbers, long fractions, `1.0`. For values that only go on and are not
 * computed with: such a number is an object here. Throws a SyntaxError. Pure.
 */
export function parseAsWritten(text: string): unknown {
  return JSON.parse(text, asWritten)
}

function asWritten(_name: string, value: unknown, at?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || at?.source === undefined || at.source === String(value)) return value
  return rawJSON(at.source)
}

/** The same, but such a number is the text of its digits: for people and programs that read what was written. Pure. */
export function parseShown(text: string): unknown {
  return JSON.parse(text, asShown)
}

function asShown(_name: string, value: unknown, at?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || at?.source === undefined) return value
  return isSame(at.source, value) ? value : at.source
}

/** Does the float say what was written, but for its spelling? */
function isSame(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return false
  const [whole = '', fraction = ''] = source.toLowerCase().split('e')[0]?.replace('-', '').split('.') ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '').replace(/0+$/, '')
  const printed = value.toExponential().replace('-', '').split('e')[0]?.replace('.', '') ?? ''
  return digits === printed.replace(/^0+/, '').replace(/0+$/, '')
}
