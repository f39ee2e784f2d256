import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { AnyNode, CallExpression, Expression, SpreadElement } from 'acorn'
import { skillModule } from '@flotilla/protocol/skill-surface'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import type { Faults } from './skill-fault.ts'
import { walkNodes } from './walk-nodes.ts'

/** A skill's description of itself, read from the source without running it. */
export interface SkillDefinition {
  readonly name: string
  readonly description: string
  /** Properties of a JSON Schema object, by parameter. */
  readonly parameters: JsonObject
}

const namePattern = /^[a-z][a-z0-9_]{1,47}$/
/** The maximum length of the description of a skill, in characters. */
const descriptionMaxChars = 1000
const form =
  "write: import { skill } from '@flotilla/skill'; export default skill('name', 'description', { text: { type: 'string' } }, async ({ text }, { mesh_client }) => ({ ... }))"

/** Reads the one `skill(name, description, parameters, async function)` that a source exports. Pure. */
export function readDefinition(program: AnyNode, faults: Faults): SkillDefinition | null {
  const callee = importedName(program)
  const calls = callee === null ? [] : callsOf(program, callee)
  const [call] = calls
  if (!call || calls.length > 1) {
    faults.add(
      call ?? program,
      'declaration',
      `the source of a skill must call skill(...) exactly once; ${form}`,
    )
    return null
  }
  if (!isDefaultExport(program, call)) {
    faults.add(call, 'declaration', `the source must export the result of skill(...) as default; ${form}`)
    return null
  }
  const [name, description, parameters, body] = call.arguments
  requireAsyncFunction(call, body, faults)
  const definition = {
    name: name && literalOf(name),
    description: description && literalOf(description),
    parameters: parameters && literalOf(parameters),
  }
  if (typeof definition.name !== 'string' || !namePattern.test(definition.name)) {
    faults.add(
      name ?? call,
      'declaration',
      'the name of the skill must be a string literal of 2 to 48 of a-z 0-9 _ that starts with a letter',
    )
    return null
  }
  if (typeof definition.description !== 'string' || definition.description.length > descriptionMaxChars) {
    faults.add(
      description ?? call,
      'declaration',
      `the description of the skill must be a string literal of up to ${descriptionMaxChars} characters`,
    )
    return null
  }
  if (!isParameters(definition.parameters)) {
    faults.add(
      parameters ?? call,
      'declaration',
      "the parameters must be an object literal: { text: { type: 'string', description: '...' } }, a JSON Schema for each",
    )
    return null
  }
  return { name: definition.name, description: definition.description, parameters: definition.parameters }
}

/** Returns the local name under which this source imports `skill`; null if it does not import `skill`. */
function importedName(program: AnyNode): string | null {
  for (const { node } of walkNodes(program)) {
    if (node.type !== 'ImportDeclaration' || node.source.value !== skillModule) continue
    for (const specifier of node.specifiers) {
      if (specifier.type !== 'ImportSpecifier') continue
      const { imported } = specifier
      if (imported.type === 'Identifier' && imported.name === 'skill') return specifier.local.name
    }
  }
  return null
}

function callsOf(program: AnyNode, name: string): CallExpression[] {
  const calls: CallExpression[] = []
  for (const { node } of walkNodes(program)) {
    if (node.type === 'CallExpression' && node.callee.type === 'Identifier' && node.callee.name === name) {
      calls.push(node)
    }
  }
  return calls
}

function isDefaultExport(program: AnyNode, call: CallExpression): boolean {
  for (const { node } of walkNodes(program)) {
    if (node.type === 'ExportDefaultDeclaration') return node.declaration === call
  }
  return false
}

function requireAsyncFunction(
  call: CallExpression,
  body: Expression | SpreadElement | undefined,
  faults: Faults,
): void {
  const isFunction = body?.type === 'ArrowFunctionExpression' || body?.type === 'FunctionExpression'
  if (isFunction && body.async && !body.generator && body.params.length <= 2) return
  faults.add(
    body ?? call,
    'declaration',
    'the fourth argument must be an async function of the parameters and { mesh_client }; mesh_client returns promises',
  )
}

function isParameters(value: JsonValue | undefined): value is JsonObject {
  return (
    isJsonObject(value) && Object.values(value).every((schema) => isJsonObject(schema) && 'type' in schema)
  )
}

/** Returns the value of a literal expression; undefined for an expression that would have to be run. */
function literalOf(node: Expression | SpreadElement): JsonValue | undefined {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- of a grammar's seventy kinds these matter here
  switch (node.type) {
    case 'Literal': {
      const { value } = node
      return typeof value === 'string' ||
        typeof value === 'number' ||
        typeof value === 'boolean' ||
        value === null
        ? (value ?? null)
        : undefined
    }
    case 'TemplateLiteral':
      return node.expressions.length === 0 ? (node.quasis[0]?.value.cooked ?? undefined) : undefined
    case 'UnaryExpression': {
      const value = literalOf(node.argument)
      return node.operator === '-' && typeof value === 'number' ? -value : undefined
    }
    case 'ArrayExpression': {
      const items = node.elements.map((element) => (element ? literalOf(element) : undefined))
      return items.every((item) => item !== undefined) ? items : undefined
    }
    case 'ObjectExpression':
      return objectOf(node.properties)
    default:
      return undefined
  }
}

function objectOf(
  properties: Extract<Expression, { type: 'ObjectExpression' }>['properties'],
): JsonObject | undefined {
  const entries: [string, JsonValue][] = []
  for (const property of properties) {
    if (property.type !== 'Property' || property.computed || property.kind !== 'init') return undefined
    const { key } = property
    const name = key.type === 'Identifier' ? key.name : key.type === 'Literal' ? String(key.value) : undefined
    const value = literalOf(property.value)
    if (name === undefined || name === '__proto__' || value === undefined) return undefined
    entries.push([name, value])
  }
  return Object.fromEntries(entries)
}
