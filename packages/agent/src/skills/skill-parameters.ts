import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { ToolDefinition } from '@flotilla/protocol/tool-call'

const kinds = ['string', 'number', 'integer', 'boolean', 'object', 'array'] as const
type Kind = (typeof kinds)[number]

interface Parameter {
  readonly type: Kind
  readonly schema: JsonObject
  readonly choices: readonly JsonValue[] | null
  readonly fallback: JsonValue | undefined
}

/** Providers reject a whole request because of one malformed tool, so no other name is accepted. */
const namePattern = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/
const parametersMax = 20
const choicesMax = 100
const descriptionMaxChars = 1000

/**
 * Converts a skill's declared parameters into a tool schema and a parser for the model's input. A parameter without
 * `default` is required. Throws the Problem `bad-request` for a declaration that no model could be given. Pure.
 */
export function skillParameters(declared: JsonObject): {
  readonly schema: ToolDefinition['parameters']
  readonly read: (input: JsonObject) => JsonObject
} {
  const entries = Object.entries(declared)
  if (entries.length > parametersMax) throw bad(`a skill has at most ${parametersMax} parameters`)
  const parameters = entries.map(([name, declared]) => [name, parameterOf(name, declared)] as const)
  return {
    schema: {
      type: 'object',
      properties: Object.fromEntries(parameters.map(([name, { schema }]) => [name, schema])),
      required: parameters.filter(([, { fallback }]) => fallback === undefined).map(([name]) => name),
      additionalProperties: false,
    },
    read: (input) => {
      const unknown = Object.keys(input).filter((name) => !Object.hasOwn(declared, name))
      if (unknown.length > 0) throw bad(`There is no parameter ${unknown.join(', ')}.`)
      return Object.fromEntries(
        parameters.map(([name, parameter]) => [name, valueOf(name, parameter, input[name])]),
      )
    },
  }
}

function parameterOf(name: string, declared: JsonValue): Parameter {
  if (!namePattern.test(name))
    throw bad(`the name of a parameter may have only letters, digits and _, not ${name}`)
  if (!isJsonObject(declared)) throw bad(`parameter ${name}: write { type: 'string', description: '...' }`)
  const type = kinds.find((kind) => kind === declared['type'])
  if (type === undefined) throw bad(`parameter ${name}: the type must be one of ${kinds.join(', ')}`)
  const choices = choicesOf(name, declared['enum'])
  const fallback = declared['default']
  const schema: Record<string, JsonValue> = { type }
  if (typeof declared['description'] === 'string') {
    schema['description'] = sanitizeForPrompt(declared['description']).slice(0, descriptionMaxChars)
  }
  if (choices) schema['enum'] = [...choices]
  if (fallback !== undefined) schema['default'] = fallback
  for (const bound of ['minimum', 'maximum', 'minLength', 'maxLength'])
    if (typeof declared[bound] === 'number') schema[bound] = declared[bound]
  // Some providers require the type of list items.
  if (type === 'array') schema['items'] = itemsOf(declared['items'])
  return { type, schema, choices, fallback }
}

function choicesOf(name: string, declared: JsonValue | undefined): readonly JsonValue[] | null {
  if (declared === undefined) return null
  const plain = Array.isArray(declared) && declared.every((one) => ['string', 'number'].includes(typeof one))
  if (!plain || declared.length === 0 || declared.length > choicesMax) {
    throw bad(`parameter ${name}: enum must be a list of 1 to ${choicesMax} texts or numbers`)
  }
  return declared.map((one) => (typeof one === 'string' ? sanitizeForPrompt(one) : one))
}

function itemsOf(declared: JsonValue | undefined): JsonObject {
  const type = isJsonObject(declared)
    ? kinds.find((kind) => kind === declared['type'] && kind !== 'array')
    : undefined
  return type === undefined ? {} : { type }
}

function valueOf(name: string, parameter: Parameter, value: JsonValue | undefined): JsonValue {
  if (value === undefined || (value === null && parameter.fallback !== undefined)) {
    if (parameter.fallback !== undefined) return parameter.fallback
    throw bad(`\`${name}\` is missing.`)
  }
  const fits = isOf(parameter.type, value) && (parameter.choices?.includes(value) ?? true)
  if (!fits || outOfBounds(parameter.schema, value)) {
    throw bad(`\`${name}\`: expected a value of the form ${JSON.stringify(parameter.schema)}.`)
  }
  return value
}

function isOf(type: Kind, value: JsonValue): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isJsonObject(value)
  return typeof value === type
}

function outOfBounds(schema: JsonObject, value: JsonValue): boolean {
  const size = typeof value === 'string' ? value.length : value
  const [low, high] = typeof value === 'string' ? ['minLength', 'maxLength'] : ['minimum', 'maximum']
  if (typeof size !== 'number') return false
  const least = schema[low ?? '']
  const most = schema[high ?? '']
  return (typeof least === 'number' && size < least) || (typeof most === 'number' && size > most)
}

function bad(detail: string): Problem {
  return new Problem('bad-request', { detail })
}
