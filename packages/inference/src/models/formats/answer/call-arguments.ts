import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { wellFormedJson } from '@flotilla/protocol/well-formed-json'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { jsonTextsIn } from './json-texts.ts'
import { mendJson } from './mend-json.ts'

/**
 * The most nested string encodings that are decoded: some servers encode arguments twice, none is known to do
 * more.
 */
const encodingsMax = 3

/**
 * Joins the pieces of a call's arguments. Returns a list, because one text may contain the arguments of
 * several calls. Each is the text of a JSON object exactly as it was written, or, where no rule below finds one, the
 * pieces joined, which the agent rejects with an error for the model. The first rule that finds an object wins:
 *
 * 1. the joined pieces are an object; nothing, `null`, `""` and an empty list are the empty object;
 * 2. they are a JSON text that holds an object (encoded twice);
 * 3. each piece repeats all earlier pieces, and the last one is an object;
 * 4. each piece is an object that has all members of the piece before, the last of them possibly longer;
 * 5. they are several objects in a row: equal and empty objects count once, each other object is a separate call;
 * 6. an object precedes stray closing brackets or marks of the model's template, or is inside the fences of a code
 *    block.
 *
 * Pure.
 */
export function settleArguments(pieces: readonly string[]): readonly string[] {
  const joined = wellFormedJson(pieces.join('').replace(nothingFirst, ''))
  const plain = objectIn(joined)
  if (plain !== null) return [wrappedIn(plain) ?? plain]
  const last = wellFormedJson(pieces.at(-1) ?? '')
  const isCumulative = pieces.every((piece, at) => at === 0 || piece.startsWith(pieces[at - 1] ?? ''))
  const whole = isCumulative ? objectIn(last) : null
  if (whole !== null) return [whole]
  const grown = grownObject(pieces)
  if (grown !== null) return [grown]
  const unfenced = /^\s*```(?:json)?\s*([^]*?)\s*```\s*$/.exec(joined)?.[1]
  const fenced = unfenced === undefined ? null : objectIn(unfenced)
  if (fenced !== null) return [fenced]
  const several = severalIn(joined)
  if (several !== null) return several
  const mended = objectIn(mendJson(joined, { numbers: false }))
  return [mended ?? joined]
}

/** How servers and templates print that a call has no arguments; PHP prints an empty object as a list. */
const nothings: ReadonlySet<string> = new Set(['', '""', 'null', '[]', 'None', 'undefined'])
/** An empty value that a router has put before the arguments. */
const nothingFirst = /^\s*(?:null|None|undefined|"")\s*(?=\{)/
/** Whether a piece of arguments prints an empty value. Pure. */
export function isNothing(piece: string): boolean {
  return nothings.has(piece.trim())
}

/** Blanks, zero characters and zero-width characters at the edges of arguments. */
const invisibleEdges = /^[\s\0\u200B-\u200D\u2060\uFEFF]+|[\s\0\u200B-\u200D\u2060\uFEFF]+$/gu

/** Returns the JSON text of an object, given as JSON or as a string that contains it; null otherwise. */
function objectIn(text: string): string | null {
  let inner = text.replace(invisibleEdges, '')
  for (let depth = 0; depth < encodingsMax; depth++) {
    if (nothings.has(inner)) return '{}'
    const value = readJsonQuietly(inner, jsonLimits.modelAnswer)
    if (isJsonObject(value)) return inner
    // Some models wrap the single arguments object in a list.
    if (Array.isArray(value) && value.length === 1 && isJsonObject(value[0])) return inner.slice(1, -1).trim()
    if (typeof value !== 'string') return null
    inner = wellFormedJson(value).replace(invisibleEdges, '')
  }
  return null
}

/** Whether a text is one JSON object and nothing else. Pure. */
export function isObjectText(text: string): boolean {
  return isJsonObject(readJsonQuietly(text, jsonLimits.modelAnswer))
}

/** The only member of an input that is not an object, in the form of whole messages, whose inputs must be objects. */
const wrapping = 'invalid_json'

/** Wraps a text that is not an object, so that a reader of whole messages gets an object. Pure. */
export function wrapped(written: unknown): Readonly<Record<string, unknown>> {
  return { [wrapping]: written }
}

/** Returns what `wrapped` has wrapped: with the wrapping, a tool would run without its arguments. */
function wrappedIn(text: string): string | null {
  if (!text.includes(wrapping)) return null
  const value = readJsonQuietly(text, jsonLimits.modelAnswer)
  if (!isJsonObject(value) || Object.keys(value).length !== 1) return null
  const inner = value[wrapping]
  return inner === undefined ? null : typeof inner === 'string' ? inner : JSON.stringify(inner)
}

/** Returns the last of several objects of which each continues the one before; null otherwise. */
function grownObject(pieces: readonly string[]): string | null {
  if (pieces.length < 2) return null
  const values = pieces.map((piece) => readJsonQuietly(piece, jsonLimits.modelAnswer))
  const isGrown = values.every(
    (value, at) => isJsonObject(value) && (at === 0 || grows(values[at - 1], value)),
  )
  return isGrown ? (pieces.at(-1) ?? null) : null
}

/** Whether a later value has all of the earlier one. The recursion is as deep as the limits of JSON allow. */
function grows(before: JsonValue | undefined, later: JsonValue | undefined): boolean {
  if (typeof before === 'string') return typeof later === 'string' && later.startsWith(before)
  if (Array.isArray(before))
    return (
      Array.isArray(later) &&
      later.length >= before.length &&
      before.every((one, at) => grows(one, later[at]))
    )
  if (isJsonObject(before))
    return isJsonObject(later) && Object.entries(before).every(([name, one]) => grows(one, later[name]))
  return before === null || before === later
}

function severalIn(text: string): readonly string[] | null {
  const { texts: objects, rest } = jsonTextsIn(text)
  if (objects.length === 0 || !templateMarks.test(rest)) return null
  if (objects.some((one) => !isJsonObject(readJsonQuietly(one, jsonLimits.modelAnswer)))) return null
  const distinct = [...new Set(objects)]
  const filled = distinct.filter((one) => !/^\{\s*\}$/.test(one))
  return filled.length === 0 ? distinct.slice(0, 1) : filled
}

/** Leftovers of servers after an object: brackets, empty texts, and end marks such as `</tool_call>` and `<|im_end|>`. */
const templateMarks = /^(?:[\s}\]]|""|<\/[a-z_]{1,40}>|<\|[^|<>]{1,40}\|>)*$/
