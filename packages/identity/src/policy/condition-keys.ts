import type { ASTNode } from '@marcbachmann/cel-js'
import type { ConditionNeeds } from './condition-truth.ts'
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
export interface TextKey {
  readonly variable: KeyVariable
  readonly text: string
}
/** A key that is found if a part of the condition may hold, and if one of the variables is hidden. */
export interface PartKey<T> {
  readonly part: T
}
/** Lists of keys: for the condition to hold, one key of each list must be found in the effect. */
export type ConditionKeys<T = ConditionNeeds> = readonly (readonly (TextKey | PartKey<T>)[])[]

/** The maximum number of lists of one part of a condition, which choices multiply. */
const listsMax = 6

/** The variables that can be hidden without the method or the path being hidden. */
const hiddenAlone: ReadonlySet<ConditionVariable> = new Set([
  'mcp_tool',
  'contract',
  'payees',
  'call',
  'usd',
  'origins',
  'channels',
])
/** Holds for no reading, so that it is found only if a variable is hidden. */
const onlyIfHidden: ConditionNeeds = { needs: [() => 0], bounds: [] }

/**
 * Returns by what a condition can be found without evaluating the whole of it: texts of comparisons of which one must
 * hold, and parts that `needsOf` makes ready. No list if the condition must not hold for any text. Pure.
 */
export function conditionKeys(
  node: ASTNode,
  variables: Iterable<ConditionVariable>,
  needsOf: (part: ASTNode) => ConditionNeeds,
): ConditionKeys {
  const lists = keysOf(node, needsOf)
  // A hidden value decides against the effect.
  const mayBeHidden = [...variables].some((name) => hiddenAlone.has(name))
  return mayBeHidden ? lists.map((keys) => [...keys, { part: onlyIfHidden }]) : lists
}

const none: ConditionKeys = []

function keysOf(node: ASTNode, needsOf: (part: ASTNode) => ConditionNeeds): ConditionKeys {
  if (node.op === '&&') return node.args.flatMap((part) => keysOf(part, needsOf)).slice(0, listsMax)
  if (node.op === '||') {
    const [left, right] = node.args.map((part) => [...keysOf(part, needsOf), [{ part: needsOf(part) }]])
    // Parts alone exclude no more than the condition.
    const lists = keysOfEither(left ?? none, right ?? none)
    return lists.filter((keys) => keys.some((key) => 'text' in key)).slice(0, listsMax)
  }
  if (node.op === '?:') {
    const [chosen, held, failed] = node.args
    const both = [...keysOf(chosen, needsOf), ...keysOf(held, needsOf)]
    const either = textOrBoolean(failed) === false ? both : keysOfEither(both, keysOf(failed, needsOf))
    return either.slice(0, listsMax)
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
  return left.flatMap((some) => right.map((others) => [...some, ...others]))
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
