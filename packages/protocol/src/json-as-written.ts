/** A part of JavaScript that is newer than the type library of this project. */
interface RawJson {
  rawJSON(text: string): unknown
  isRawJSON(value: unknown): value is { readonly rawJSON: string }
}

const { rawJSON, isRawJSON } = JSON as unknown as RawJson

/**
 * Parses like `JSON.parse`, but keeps the text of every number that a float cannot represent as written, and
 * `JSON.stringify` writes it so: large whole numbers, long fractions, `1.0`. For values that are only passed on: such
 * a number is an object here. Throws a SyntaxError. Pure.
 */
export function parseAsWritten(text: string): unknown {
  return shallow(() => JSON.parse(text, asWritten))
}

/** A value is visited by calls within calls, some 2,000 levels deep; deeper JSON is a SyntaxError as well. */
function shallow<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw error instanceof RangeError ? new SyntaxError('JSON is nested too deeply') : error
  }
}

function asWritten(_name: string, value: unknown, at?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || at?.source === undefined || at.source === String(value)) return value
  return rawJSON(at.source)
}

/** A whole number of 16 digits or more, or an exponent of three: only these can be beyond what a float holds. */
const mayBeLarge = /[:,[\s-]\d{16}|\de\+?\d{3}/i

/** Members in which requests and answers carry arguments and results as objects; those in texts keep their form. */
const ownMembers: ReadonlySet<string> = new Set(['input', 'args', 'arguments', 'response'])
const hasOwnMember = /"(?:input|args|arguments|response)"\s*:\s*\{/
/** A number that JavaScript may print in another notation: `1.0`, `1E2`, `-0`, a long fraction. */
const mayDiffer = /[:,[]\s*-?(?:[\d.]*(?:\.\d*0|e[+-]?\d+)|[\d.]{9,}|0)\s*[,}\]]/i

function mayHaveOwnNumbers(text: string): boolean {
  return hasOwnMember.test(text) && mayDiffer.test(text)
}

/**
 * Like `parseAsWritten`, but outside of arguments and results keeps only whole numbers beyond 2^53 and numbers beyond
 * the range of a float as written; all others are numbers. As fast as `JSON.parse` for a text without such numbers.
 * Throws a SyntaxError. Pure.
 */
export function parseLargeAsWritten(text: string): unknown {
  return shallow(() => {
    if (mayHaveOwnNumbers(text)) return settled(parseAsWritten(text), (written) => written)
    return mayBeLarge.test(text) || /^\d{16}/.test(text) ? JSON.parse(text, largeAsWritten) : JSON.parse(text)
  })
}

/** Replaces the numbers that were kept as written: by `keep` in arguments and if large, by floats elsewhere. */
function settled(
  value: unknown,
  keep: (written: { readonly rawJSON: string }) => unknown,
  isOwn = false,
): unknown {
  if (isRawJSON(value)) {
    const { rawJSON: source } = value
    const number = Number(source)
    return isOwn || isLargeWhole(number, source) || !Number.isFinite(number) ? keep(value) : number
  }
  if (typeof value !== 'object' || value === null) return value
  for (const [name, inner] of Object.entries(value)) {
    const isObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner) && !isRawJSON(inner)
    const next = settled(inner, keep, isOwn || (isObject && ownMembers.has(name)))
    // A definition, because an assignment to `__proto__` would change the prototype.
    if (next !== inner)
      Object.defineProperty(value, name, {
        value: next,
        writable: true,
        enumerable: true,
        configurable: true,
      })
  }
  return value
}

function largeAsWritten(_name: string, value: unknown, at?: { readonly source?: string }): unknown {
  const isKept = isLargeWhole(value, at?.source) || value === Infinity || value === -Infinity
  return isKept && at?.source !== undefined ? rawJSON(at.source) : value
}

function isLargeWhole(value: unknown, source: string | undefined): boolean {
  return (
    typeof value === 'number' &&
    !Number.isSafeInteger(value) &&
    source !== undefined &&
    /^-?\d+$/.test(source)
  )
}

/** The digits of a number that was kept as it was written; null for any other value. Pure. */
export function writtenNumber(value: unknown): string | null {
  return isRawJSON(value) ? value.rawJSON : null
}

/** Marks a number that is carried as a text: a noncharacter, which no interchanged text has. */
const mark = '\ufdd0'
const marked = /"\ufdd0(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"/g

/**
 * The same JSON with the numbers that `parseLargeAsWritten` keeps as marked texts, for a library that parses and prints
 * it; numbers beyond the range of a float outside of arguments pass as they are. `unmarked` turns them into numbers
 * again. The same text if it has no such number. Throws a SyntaxError. Pure.
 */
export function withMarkedNumbers(text: string): string {
  return shallow(() => {
    if (mayHaveOwnNumbers(text))
      return JSON.stringify(settled(parseAsWritten(text), ({ rawJSON: source }) => `${mark}${source}`))
    if (!mayBeLarge.test(text)) return text
    return JSON.stringify(
      JSON.parse(text, (_name, value: unknown, at?: { readonly source?: string }) =>
        isLargeWhole(value, at?.source) ? `${mark}${at?.source ?? ''}` : value,
      ),
    )
  })
}

/** JSON in which marked texts are numbers again. Pure. */
export function unmarked(json: string): string {
  return json.includes(mark) ? json.replace(marked, '$1') : json
}

/** Like `parseAsWritten`, but returns such a number as the text of its digits, for people and programs. Pure. */
export function parseShown(text: string): unknown {
  return shallow(() => JSON.parse(text, asShown))
}

function asShown(_name: string, value: unknown, at?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || at?.source === undefined) return value
  return isSame(at.source, value) ? value : at.source
}

/** Whether the float has the value that was written, apart from its spelling. */
function isSame(source: string, value: number): boolean {
  if (!Number.isFinite(value)) return false
  const [whole = '', fraction = ''] = source.toLowerCase().split('e')[0]?.replace('-', '').split('.') ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '').replace(/0+$/, '')
  const printed = value.toExponential().replace('-', '').split('e')[0]?.replace('.', '') ?? ''
  return digits === printed.replace(/^0+/, '').replace(/0+$/, '')
}
