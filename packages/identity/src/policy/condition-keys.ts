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
/** A text that is within the value of a variable, both in lower case; for credentials, the name of one of them. */
export interface ConditionKey {
  readonly variable: KeyVariable
  readonly text: string
}
/** Lists of keys: for the condition to hold, one key of each list must be found in the effect. */
export type ConditionKeys = readonly (readonly ConditionKey[])[]

/** The maximum number of lists of one part of a condition, which choices multiply. */
const listsMax = 6

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
 * Returns by which texts a condition can be found without evaluating it: those of comparisons that must hold. No list
 * without such comparisons, or if a variable of the condition may be hidden by itself, which decides against an effect.
 * Pure.
 */
export function conditionKeys(node: ASTNode, variables: Iterable<ConditionVariable>): ConditionKeys {
  const hidden = [...variables].filter((name) => !visible.has(name))
  if (hidden.length === 0) return keysOf(node)
  // Whether the MCP tool is hidden is known where it is read, and only there.
  if (hidden.some((name) => name !== 'mcp_tool')) return none
  return keysOf(node).filter((keys) => keys.every(({ variable }) => variable === 'mcp_tool'))
}

const none: ConditionKeys = []

function keysOf(node: ASTNode): ConditionKeys {
  if (node.op === '&&') return [...keysOf(node.args[0]), ...keysOf(node.args[1])].slice(0, listsMax)
  if (node.op === '||') return keysOfEither(keysOf(node.args[0]), keysOf(node.args[1]))
  if (node.op === '?:') {
    const [chosen, held, failed] = node.args
    const both = [...keysOf(chosen), ...keysOf(held)]
    return textOrBoolean(failed) === false ? both : keysOfEither(both, keysOf(failed))
  }
  // Of the functions, `startsWith`, `endsWith` and `contains` have an argument.
  if (node.op === 'rcall') return keysOfValues(node.args[1], node.args[2])
  if (node.op === '==') {
    const [left, right] = node.args
    const keys = keysOfValues(left, [right])
    return keys.length > 0 ? keys : keysOfValues(right, [left])
  }
  if (node.op !== 'in') return none
  const [item, list] = node.args
  if (list.op === 'list') return keysOfValues(item, list.args)
  const name = textOrBoolean(item)
  return typeof name === 'string' && list.args === 'credentials'
    ? [[{ variable: 'credentials', text: name }]]
    : none
}

/** Either part may hold, so a key of each pair of their lists must be found. */
function keysOfEither(left: ConditionKeys, right: ConditionKeys): ConditionKeys {
  return left.flatMap((some) => right.map((others) => [...some, ...others])).slice(0, listsMax)
}

/** The keys of a variable that is, begins with, ends with or contains one of some texts. */
function keysOfValues(node: ASTNode, values: readonly ASTNode[]): ConditionKeys {
  const variable = variableOf(node)
  const texts = values.map(textOrBoolean)
  return variable !== null && texts.length > 0 && texts.every(isKey)
    ? [texts.map((text) => ({ variable, text: text.toLowerCase() }))]
    : none
}

/** Other letters than those of ASCII can become longer or depend on their neighbors in lower case. */
export function isKey(text: unknown): text is string {
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
