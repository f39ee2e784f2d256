import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'

/** One parameter of a tool: its schema for the model, and the parser of its value. */
export interface Field<T> {
  readonly schema: Readonly<Record<string, unknown>>
  readonly required: boolean
  /** Throws the Problem `bad-request` that says what was expected. */
  read(value: JsonValue | undefined, name: string): T
}

export type Shape = Readonly<Record<string, Field<unknown>>>
export type Values<S extends Shape> = { readonly [K in keyof S]: S[K] extends Field<infer T> ? T : never }

export interface Parameters<S extends Shape> {
  readonly schema: ToolDefinition['parameters']
  read(input: JsonObject): Values<S>
}

/**
 * The single source of the schema that models read and of the check of their input. Unknown names are rejected.
 * Definitions are part of each prompt, so the schema leaves out what a model cannot use: lengths, which it cannot
 * count, very large bounds, and that other names are not allowed. The errors of the check state all of them.
 */
export function parameters<S extends Shape>(shape: S): Parameters<S> {
  const fields = Object.entries(shape)
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(fields.map(([name, field]) => [name, field.schema])),
      required: fields.filter(([, field]) => field.required).map(([name]) => name),
    },
    read: (input) => {
      const unknown = Object.keys(input).filter((name) => !Object.hasOwn(shape, name))
      if (unknown.length > 0)
        throw new Problem('bad-request', { detail: `There is no parameter ${unknown.join(', ')}.` })
      const values = fields.map(([name, field]) => [name, field.read(input[name], name)] as const)
      return Object.fromEntries(values) as Values<S>
    },
  }
}

export function text(description: string, bounds: { minChars?: number; maxChars: number }): Field<string> {
  const { minChars = 0, maxChars } = bounds
  const least = minChars <= 1 ? {} : { minLength: minChars }
  return field({ type: 'string', description, ...least }, (value, name) => {
    if (typeof value === 'string' && value.length >= minChars && value.length <= maxChars) return value
    throw wrong(name, `a text of ${minChars} to ${maxChars} characters`)
  })
}

export function integer(description: string, bounds: { min: number; max: number }): Field<number> {
  const { min, max } = bounds
  return field({ type: 'integer', description, ...boundsOf(min, max) }, (value, name) => {
    // Models sometimes write numbers as text; the meaning is unambiguous.
    const number = typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value
    if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max)
      return number
    throw wrong(name, `a whole number from ${min} to ${max}`)
  })
}

export function number(description: string, bounds: { min: number; max: number }): Field<number> {
  const { min, max } = bounds
  return field({ type: 'number', description, ...boundsOf(min, max) }, (value, name) => {
    const read =
      typeof value === 'string' && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value) ? Number(value) : value
    if (typeof read === 'number' && Number.isFinite(read) && read >= min && read <= max) return read
    throw wrong(name, `a number from ${min} to ${max}`)
  })
}

/** A larger bound is left out of the schema. */
const statedMax = 100_000

function boundsOf(minimum: number, max: number): { readonly minimum: number; readonly maximum?: number } {
  return { minimum, ...(max <= statedMax ? { maximum: max } : {}) }
}

export function flag(description: string): Field<boolean> {
  return field({ type: 'boolean', description }, (value, name) => {
    if (value === true || value === 'true') return true
    if (value === false || value === 'false') return false
    throw wrong(name, 'true or false')
  })
}

export function choice<const T extends string>(description: string, values: readonly T[]): Field<T> {
  return field({ type: 'string', description, enum: values }, (value, name) => {
    const found = values.find((known) => known === value)
    if (found !== undefined) return found
    throw wrong(name, `one of ${values.join(', ')}`)
  })
}

export function anyJson(description: string): Field<JsonValue> {
  return field({ description }, (value, name) => {
    if (value !== undefined) return value
    throw wrong(name, 'a value')
  })
}

export function jsonObject(description: string): Field<JsonObject> {
  return field({ type: 'object', description }, (value, name) => {
    if (isJsonObject(value)) return value
    throw wrong(name, 'an object')
  })
}

/** A single text is read as a list of one: models sometimes omit the brackets. */
export function textList(
  description: string,
  bounds: { maxItems: number; maxChars: number },
): Field<readonly string[]> {
  const { maxItems, maxChars } = bounds
  const schema = { type: 'array', description, items: { type: 'string' } }
  return field(schema, (value, name) => {
    const found = typeof value === 'string' ? [value] : value
    const texts = Array.isArray(found) ? found.filter((item) => typeof item === 'string') : []
    const isGood = Array.isArray(found) && texts.length === found.length && texts.length <= maxItems
    if (isGood && texts.every((item) => item.length <= maxChars)) return texts
    throw wrong(name, `a list of at most ${maxItems} texts of at most ${maxChars} characters`)
  })
}

export function textMap(description: string): Field<Readonly<Record<string, string>>> {
  const schema = { type: 'object', description, additionalProperties: { type: 'string' } }
  return field(schema, (value, name) => {
    if (!isJsonObject(value)) throw wrong(name, 'an object of texts')
    const entries = Object.entries(value).map(([key, item]) => {
      if (typeof item !== 'string') throw wrong(`${name}.${key}`, 'a text')
      return [key, item] as const
    })
    return Object.fromEntries(entries)
  })
}

export function withDefault<T extends JsonValue | Readonly<Record<string, string>> | readonly string[]>(
  inner: Field<T>,
  value: T,
): Field<T> {
  return {
    // An empty default says nothing that a model needs, and every prompt would carry it.
    schema: isEmpty(value) ? inner.schema : { ...inner.schema, default: value },
    required: false,
    read: (found, name) => (found === undefined || found === null ? value : inner.read(found, name)),
  }
}

function isEmpty(value: unknown): boolean {
  return value === '' || value === null || value === false || ['{}', '[]'].includes(JSON.stringify(value))
}

export function optional<T>(inner: Field<T>): Field<T | undefined> {
  return {
    schema: inner.schema,
    required: false,
    read: (found, name) => (found === undefined || found === null ? undefined : inner.read(found, name)),
  }
}

function field<T>(
  schema: Readonly<Record<string, unknown>>,
  read: (value: JsonValue | undefined, name: string) => T,
): Field<T> {
  return { schema, required: true, read }
}

function wrong(name: string, expected: string): Problem {
  return new Problem('bad-request', { detail: `\`${name}\`: expected ${expected}.` })
}
