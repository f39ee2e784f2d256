import type { ASTNode } from '@marcbachmann/cel-js'
import type { ConditionVariable } from './condition-values.ts'

/** The variables whose values are texts. */
const textVariables = [
  'path',
  'host',
  'mcp_server',
  'mcp_tool',
  'chain',
  'project',
  'agent',
  'tool',
  'method',
] as const satisfies readonly ConditionVariable[]
export const keyVariables = [...textVariables, 'credentials'] as const
export type KeyVariable = (typeof keyVariables)[number]
/**
 * For a variable, the texts of which one must be within its value, so that the condition can hold; both in lower case.
 * For credentials, the names of which one must be among them.
 */
export type ConditionKeys = ReadonlyMap<KeyVariable, readonly string[]>

/** The other variables can be hidden without the method or the path being hidden. */
const visible: ReadonlySet<ConditionVariable> = new Set([
  'agent',
  'project',
  'tool',
  'method',
  'host',
  'path',
  'mcp_server',
  'chain',
  'credentials',
])

/**
 * Returns by which texts a condition can be found without evaluating it: those of comparisons that must hold. Empty
 * without such comparisons, or if a variable of the condition may be hidden by itself, which decides against an effect.
 * Pure.
 */
export function conditionKeys(node: ASTNode, variables: Iterable<ConditionVariable>): ConditionKeys {
  const hidden = [...variables].filter((name) => !visible.has(name))
  // Whether the MCP tool is hidden is known where it is read, and only there.
  const isKnown = (variable: KeyVariable) =>
    hidden.every((name) => name === 'mcp_tool' && variable === 'mcp_tool')
  return new Map([...keysOf(node)].filter(([variable]) => isKnown(variable)))
}

const none: ConditionKeys = new Map()

function keysOf(node: ASTNode): ConditionKeys {
  if (node.op === '&&') return keysOfBoth(keysOf(node.args[0]), keysOf(node.args[1]))
  if (node.op === '||') return keysOfEither(keysOf(node.args[0]), keysOf(node.args[1]))
  if (node.op === '?:') {
    const [chosen, held, failed] = node.args
    const both = keysOfBoth(keysOf(chosen), keysOf(held))
    return textOrBoolean(failed) === false ? both : keysOfEither(both, keysOf(failed))
  }
  // Of the functions, `startsWith`, `endsWith` and `contains` have an argument.
  if (node.op === 'rcall') return keysOfValues(node.args[1], node.args[2])
  if (node.op === '==') {
    const [left, right] = node.args
    const keys = keysOfValues(left, [right])
    return keys.size > 0 ? keys : keysOfValues(right, [left])
  }
  if (node.op !== 'in') return none
  const [item, list] = node.args
  if (list.op === 'list') return keysOfValues(item, list.args)
  const name = textOrBoolean(item)
  return typeof name === 'string' && list.args === 'credentials' ? new Map([['credentials', [name]]]) : none
}

function keysOfBoth(left: ConditionKeys, right: ConditionKeys): ConditionKeys {
  const keys = new Map(right)
  for (const [field, texts] of left) keys.set(field, rarer(texts, right.get(field) ?? texts))
  return keys
}

function keysOfEither(left: ConditionKeys, right: ConditionKeys): ConditionKeys {
  const keys = new Map<KeyVariable, readonly string[]>()
  for (const [field, texts] of left) {
    const others = right.get(field)
    if (others !== undefined) keys.set(field, [...texts, ...others])
  }
  return keys
}

/** Of two sets of keys of one variable, that whose shortest text is longer, because fewer values contain it. */
function rarer(one: readonly string[], other: readonly string[]): readonly string[] {
  const shortest = (texts: readonly string[]) => Math.min(...texts.map(({ length }) => length))
  return shortest(other) > shortest(one) ? other : one
}

/** The keys of a variable that is, begins with, ends with or contains one of some texts. */
function keysOfValues(node: ASTNode, values: readonly ASTNode[]): ConditionKeys {
  const variable = variableOf(node)
  const texts = values.map(textOrBoolean)
  return variable !== null && texts.every(isKey)
    ? new Map([[variable, texts.map((text) => text.toLowerCase())]])
    : none
}

/** Other letters than those of ASCII can become longer or depend on their neighbors in lower case. */
function isKey(text: unknown): text is string {
  return typeof text === 'string' && /^[ -~]+$/.test(text)
}

/** The variable that a part of a condition reads, as it is or in lower case; null for any other part. */
function variableOf(node: ASTNode): KeyVariable | null {
  if (node.op === 'rcall') return variableOf(node.args[1])
  return (node.op === 'id' ? textVariables.find((name) => name === node.args) : null) ?? null
}

function textOrBoolean(node: ASTNode): unknown {
  return node.op === 'value' ? node.args : null
}
