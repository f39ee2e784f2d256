import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { writtenNumber } from '@flotilla/protocol/json-as-written'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'

/**
 * Fits a tool's schema to all providers: an object at the root and, if `plain`, one type at a time and no array
 * without `items`. Pure.
 */
export function fitToolSchema(schema: JsonValue | undefined, plain: boolean): JsonObject {
  const fitted = fitAnswerSchema(schema ?? {}, plain)
  const root = isJsonObject(fitted) ? withoutChoice(fitted) : {}
  return { ...root, type: 'object', properties: isJsonObject(root['properties']) ? root['properties'] : {} }
}

/**
 * Fits a schema of an answer, whose root may have any type. Keywords that some packages or providers refuse, and that
 * only forbid values, are removed everywhere; the model still reads the rest. Pure.
 */
export function fitAnswerSchema(schema: JsonValue, plain: boolean): JsonValue {
  return plain ? fit(inlined(schema)) : withoutNames(schema)
}

/** Removes `propertyNames`, for which the packages of OpenAI's models throw. Returns the same schema without it. */
function withoutNames(schema: JsonValue): JsonValue {
  return JSON.stringify(schema).includes('"propertyNames"')
    ? walkSchema(schema, ({ propertyNames: _names, ...rest }) => rest)
    : schema
}

/** Changes each schema inside a schema, innermost first. */
export function walkSchema(
  schema: JsonValue,
  change: (schema: Record<string, JsonValue>) => Record<string, JsonValue>,
): JsonValue {
  if (Array.isArray(schema)) return schema.map((one) => walkSchema(one, change))
  if (!isJsonObject(schema) || writtenNumber(schema) !== null) return schema
  const inner: Record<string, JsonValue> = {}
  for (const [key, value] of Object.entries(schema)) {
    if (nested.has(key)) inner[key] = walkSchema(value, change)
    else if (named.has(key) && isJsonObject(value)) {
      inner[key] = Object.fromEntries(
        Object.entries(value).map(([name, one]) => [name, walkSchema(one, change)]),
      )
    } else inner[key] = value
  }
  return change(inner)
}

/** Keywords whose values are schemas, by name or in a list. */
const named = new Set(['properties', '$defs', 'definitions', 'patternProperties'])
const nested = new Set(['items', 'additionalProperties', 'not', 'anyOf', 'oneOf', 'allOf', 'prefixItems'])

function fit(schema: JsonValue): JsonValue {
  return walkSchema(schema, (one) =>
    withKnownKeywords(withTextEnum(withKnownFormat(withItems(withOneType(withMergedChoices(one)))))),
  )
}

/** The keywords that Gemini documents for schemas; it rejects a call with any other. */
const knownKeywords: ReadonlySet<string> = new Set([
  'type',
  'format',
  'title',
  'description',
  'nullable',
  'enum',
  'items',
  'prefixItems',
  'minItems',
  'maxItems',
  'properties',
  'required',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'anyOf',
])

/** Removes unknown keywords, which only forbid values; exclusive bounds become inclusive bounds. */
function withKnownKeywords(schema: Record<string, JsonValue>): Record<string, JsonValue> {
  const { exclusiveMinimum: above, exclusiveMaximum: below } = schema
  const isWhole = schema['type'] === 'integer'
  const bounds = {
    ...(typeof above === 'number' ? { minimum: isWhole ? Math.floor(above) + 1 : above } : {}),
    ...(typeof below === 'number' ? { maximum: isWhole ? Math.ceil(below) - 1 : below } : {}),
  }
  const known = Object.entries(schema).filter(([key]) => knownKeywords.has(key))
  return { ...bounds, ...Object.fromEntries(known) }
}

/** Turns `const` into an `enum`, `oneOf` into `anyOf`, and the parts of `allOf` into one schema. */
function withMergedChoices(schema: Record<string, JsonValue>): Record<string, JsonValue> {
  const { const: only, oneOf, allOf, ...rest } = schema
  const all = [...listOf(allOf), rest].reduce(joined, {})
  return {
    ...all,
    ...(oneOf !== undefined && all['anyOf'] === undefined ? { anyOf: oneOf } : {}),
    ...(only !== undefined && all['enum'] === undefined ? { enum: [only] } : {}),
  }
}

/**
 * Removes a choice at the root, which OpenAI and Anthropic reject. Its alternatives become members of one object,
 * each of which is optional unless all alternatives require it.
 */
function withoutChoice(root: JsonObject): JsonObject {
  const { anyOf, oneOf, allOf, ...rest } = root
  const all = listOf(allOf)
  const choices = [...listOf(anyOf), ...listOf(oneOf)]
  if (all.length + choices.length === 0) return (anyOf ?? oneOf ?? allOf) ? rest : root
  const own = isJsonObject(rest['properties']) ? rest['properties'] : {}
  const properties = Object.assign(
    {},
    ...[...choices, ...all].map((one) => one['properties'] ?? {}),
    own,
  ) as JsonObject
  const inAll = choices
    .map(requiredIn)
    .reduce((both, names) => both.filter((name) => names.includes(name)), requiredIn(choices[0] ?? {}))
  const required = [...new Set([...requiredIn(rest), ...all.flatMap(requiredIn), ...inAll])]
  return { ...rest, properties, ...(required.length === 0 ? {} : { required }) }
}

/** Returns one schema for two that both apply: merges properties and required names; otherwise the second wins. */
function joined(one: JsonObject, other: JsonObject): JsonObject {
  const properties = [one, other].flatMap((schema) => schema['properties'] ?? []).filter(isJsonObject)
  const required = [...new Set([...requiredIn(other), ...requiredIn(one)])]
  return {
    ...one,
    ...other,
    ...(properties.length === 0 ? {} : { properties: Object.assign({}, ...properties) as JsonObject }),
    ...(required.length === 0 ? {} : { required }),
  }
}

function listOf(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

function requiredIn(schema: JsonObject): readonly string[] {
  const { required } = schema
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []
}

/** The most nested references that are resolved; a deeper reference becomes an open object. */
const referencesMax = 4
/** The most references that are resolved; each further reference becomes an open object. */
const inlinedMax = 500

/** Replaces each reference by its target, for providers that do not support references. */
function inlined(schema: JsonValue): JsonValue {
  let count = 0
  const put = (value: JsonValue, depth: number): JsonValue => {
    if (Array.isArray(value)) return value.map((one) => put(one, depth))
    if (!isJsonObject(value) || writtenNumber(value) !== null) return value
    const { $ref: reference, $defs: _defs, definitions: _definitions, ...rest } = value
    if (typeof reference !== 'string') {
      // A property may have the name of a keyword.
      const members =
        typeof value['$defs'] === 'object' || typeof value['definitions'] === 'object' ? rest : value
      return Object.fromEntries(Object.entries(members).map(([name, one]) => [name, put(one, depth)]))
    }
    const part = partAt(schema, reference)
    const whole =
      isJsonObject(part) && depth < referencesMax && ++count <= inlinedMax
        ? put(part, depth + 1)
        : { type: 'object' }
    return isJsonObject(whole) ? { ...whole, ...rest } : rest
  }
  return put(schema, 0)
}

function partAt(schema: JsonValue, reference: string): JsonValue | null {
  if (!reference.startsWith('#/')) return reference === '#' ? schema : null
  let part: JsonValue = schema
  for (const step of reference.slice(2).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (!isJsonObject(part) || !Object.hasOwn(part, name)) return null
    part = part[name] ?? null
  }
  return part
}

/** Moves an `enum` with other values than texts into the description, because Google accepts only texts. */
function withTextEnum(schema: Record<string, JsonValue>): Record<string, JsonValue> {
  const values = schema['enum']
  if (!Array.isArray(values) || values.every((value) => typeof value === 'string' && value !== ''))
    return schema
  const { enum: _enum, ...rest } = schema
  const note = `One of: ${values.map((value) => JSON.stringify(value)).join(', ')}`
  const before = rest['description']
  return { ...rest, description: typeof before === 'string' ? `${before} ${note}` : note }
}

/** The formats that Google accepts; it rejects a call with any other. */
const knownFormats: readonly JsonValue[] = ['date-time', 'enum', 'int32', 'int64', 'float', 'double']

function withKnownFormat(schema: Record<string, JsonValue>): Record<string, JsonValue> {
  const { format, ...rest } = schema
  return typeof format !== 'string' || knownFormats.includes(format) ? schema : rest
}

function withOneType(schema: Readonly<Record<string, JsonValue>>): Record<string, JsonValue> {
  const types = schema['type']
  if (!Array.isArray(types)) return { ...schema }
  const { type: _types, ...rest } = schema
  const [only, ...others] = types
  if (only === undefined) return rest
  if (others.length === 0) return { ...rest, type: only }
  const { description, ...shared } = rest
  return {
    ...(description === undefined ? {} : { description }),
    anyOf: types.map((type) => withItems({ ...forType(shared, type), type })),
  }
}

/** Removes keywords of arrays and objects from alternatives of other types. */
function forType(shared: Readonly<Record<string, JsonValue>>, type: JsonValue): Record<string, JsonValue> {
  const ofType: Record<string, readonly string[]> = {
    array: ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems'],
    object: ['properties', 'required', 'additionalProperties'],
  }
  const foreign = Object.entries(ofType).flatMap(([owner, keys]) => (owner === type ? [] : keys))
  return Object.fromEntries(Object.entries(shared).filter(([key]) => !foreign.includes(key)))
}

function withItems(schema: Record<string, JsonValue>): Record<string, JsonValue> {
  if (schema['type'] !== 'array' || 'items' in schema || 'prefixItems' in schema) return schema
  return { ...schema, items: { type: 'string' } }
}
