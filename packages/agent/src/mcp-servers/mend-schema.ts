import { isJsonObject } from '@flotilla/protocol/is-json-object'
import { writtenNumber } from '@flotilla/protocol/json-as-written'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'

/** Members that hold one schema. */
const single = ['additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'] as const
/** Members that hold a list of schemas. */
const lists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'] as const
/** Members that hold schemas by name. */
const maps = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'] as const
/** Members that change what a reference means (`id` in draft 4); the mesh refuses a schema that leads elsewhere. */
const bases = ['$schema', '$id', 'id', '$anchor', '$dynamicAnchor', '$recursiveAnchor'] as const
const references = ['$ref', '$dynamicRef', '$recursiveRef'] as const
const types = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']
/** Names of types in other languages, which servers write by mistake. */
const otherTypes: Readonly<Record<string, string>> = {
  str: 'string',
  float: 'number',
  double: 'number',
  int: 'integer',
  bool: 'boolean',
  dict: 'object',
  list: 'array',
}

/**
 * Returns a schema that the validators of providers accept. A provider refuses every call of an agent whose tools
 * include one invalid schema, so what no draft of JSON Schema allows is dropped, and what only older drafts allow is
 * rewritten. Unknown keywords stay. Pure.
 */
export function mendedSchema(schema: JsonObject): JsonObject {
  const mended = mend(schema, schema)
  return isJsonObject(mended) ? mended : {}
}

function mend(value: JsonValue, root: JsonObject): JsonValue {
  if (typeof value === 'boolean') return value
  if (!isJsonObject(value) || writtenNumber(value) !== null) return {}
  const kept: Record<string, JsonValue> = {}
  for (const [name, member] of Object.entries(value)) {
    const mended = mendMember(name, member, { schema: value, root })
    if (mended !== undefined) kept[name] = mended
  }
  for (const side of ['Minimum', 'Maximum'] as const) makeExclusive(kept, side)
  if (mayBeArray(kept['type']) && kept['items'] === undefined && kept['prefixItems'] === undefined)
    kept['items'] = {}
  return kept
}

function mendMember(
  name: string,
  member: JsonValue,
  { schema, root }: { readonly schema: JsonObject; readonly root: JsonObject },
): JsonValue | undefined {
  const has = (names: readonly string[]) => names.includes(name)
  if (has(bases)) return undefined
  if (has(references)) return typeof member === 'string' && isFound(member, root) ? member : undefined
  if (has(maps)) return isJsonObject(member) ? mendMap(member, root) : undefined
  if (has(lists)) {
    const list = Array.isArray(member) ? (member as readonly JsonValue[]) : []
    return list.length === 0 ? undefined : list.map((one) => mend(one, root))
  }
  if (has(single)) return isJsonObject(member) || typeof member === 'boolean' ? mend(member, root) : undefined
  switch (name) {
    case 'items':
      return mendItems(member, root)
    case 'type':
      return mendType(member)
    case 'required':
      return mendRequired(member, schema)
    case 'enum':
      return Array.isArray(member) && member.length > 0 ? member : undefined
    default:
      return member
  }
}

function mendMap(schemas: JsonObject, root: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schemas).map(([name, one]) => [name, mend(one, root)]))
}

/** A list of schemas by position belongs to older drafts. */
function mendItems(member: JsonValue, root: JsonObject): JsonValue {
  if (!Array.isArray(member)) return mend(member, root)
  const list: readonly JsonValue[] = member
  return list.length === 0 ? {} : { anyOf: list.map((one) => mend(one, root)) }
}

function mendType(member: JsonValue): JsonValue | undefined {
  const named = (Array.isArray(member) ? (member as readonly JsonValue[]) : [member]).flatMap((one) => {
    const type = typeof one === 'string' ? (otherTypes[one.toLowerCase()] ?? one.toLowerCase()) : ''
    return types.includes(type) ? [type] : []
  })
  const [first] = named
  return Array.isArray(member) && named.length > 1 ? [...new Set(named)] : first
}

/** Returns the required names that the schema describes; another part may describe them if it is composed. */
function mendRequired(member: JsonValue, schema: JsonObject): JsonValue | undefined {
  if (!Array.isArray(member)) return undefined
  const names = [...new Set(member.filter((name): name is string => typeof name === 'string'))]
  const { properties } = schema
  const isComposed = [...lists, ...references].some((name) => name in schema)
  const known =
    isComposed || !isJsonObject(properties) ? names : names.filter((name) => Object.hasOwn(properties, name))
  return known.length === 0 ? undefined : known
}

/** In draft 4 a boolean says that the limit itself is excluded. */
function makeExclusive(kept: Record<string, JsonValue>, side: 'Minimum' | 'Maximum'): void {
  const [exclusive, plain] = [`exclusive${side}`, side.toLowerCase()]
  const given = kept[exclusive]
  if (typeof given !== 'boolean') return
  const limit = kept[plain]
  delete kept[exclusive]
  if (!given || limit === undefined || (typeof limit !== 'number' && writtenNumber(limit) === null)) return
  delete kept[plain]
  kept[exclusive] = limit
}

function mayBeArray(type: JsonValue | undefined): boolean {
  return type === 'array' || (Array.isArray(type) && type.includes('array'))
}

/** Whether a reference leads to a part of this schema, as cleaning may have dropped the part. */
function isFound(reference: string, root: JsonObject): boolean {
  if (reference !== '#' && !reference.startsWith('#/')) return false
  let at: JsonValue | undefined = root
  for (const step of reference.slice(1).split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    at = isJsonObject(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }
  return isJsonObject(at) || typeof at === 'boolean'
}
