import type { ASTNode } from '@marcbachmann/cel-js'
import type { ConditionVariable } from './condition-values.ts'

/** What a condition requires of a variable, or of the first or last segment of the path. */
export const conditionKeyFields = [
  'path start',
  'path end',
  'path',
  'host',
  'mcp_server',
  'chain',
  'project',
  'agent',
  'tool',
  'method',
] as const
export type ConditionKeyField = (typeof conditionKeyFields)[number]
/** For a field, the texts of which one must be its value, so that the condition can hold. */
export type ConditionKeys = ReadonlyMap<ConditionKeyField, readonly string[]>

/** The other variables can be hidden without the method or the path being hidden, or are lists or numbers. */
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
 * Returns by which texts a condition can be found without evaluating it: those of comparisons that must all hold. Empty
 * without such comparisons, or if a variable of the condition may be hidden by itself, which decides against an effect.
 * Pure.
 */
export function conditionKeys(node: ASTNode, variables: Iterable<ConditionVariable>): ConditionKeys {
  const keys = new Map<ConditionKeyField, readonly string[]>()
  if (![...variables].every((name) => visible.has(name))) return keys
  for (const part of conjuncts(node)) {
    const found = keyOf(part)
    if (found !== null && !keys.has(found.field)) keys.set(found.field, found.texts)
  }
  return keys
}

/** The text before the second slash; the whole path without one. Pure. */
export function firstSegment(path: string): string {
  const end = path.indexOf('/', 1)
  return end === -1 ? path : path.slice(0, end)
}

/** The text after the last slash; the whole path without a slash. Pure. */
export function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function conjuncts(node: ASTNode): readonly ASTNode[] {
  return node.op === '&&' ? node.args.flatMap(conjuncts) : [node]
}

interface Key {
  readonly field: ConditionKeyField
  readonly texts: readonly string[]
}

function keyOf(node: ASTNode): Key | null {
  if (node.op === 'rcall') {
    const [name, receiver, [argument]] = node.args
    const text = argument === undefined ? null : textOf(argument)
    if (text === null || receiver.op !== 'id' || receiver.args !== 'path') return null
    // A path that begins with `/a/b` has the first segment `/a`; one that begins with `/a` may have another.
    if (name === 'startsWith' && text.indexOf('/', 1) !== -1)
      return { field: 'path start', texts: [firstSegment(text)] }
    return name === 'endsWith' && text.includes('/')
      ? { field: 'path end', texts: [lastSegment(text)] }
      : null
  }
  if (node.op === '==') {
    const [left, right] = node.args
    return keyed(left, [right]) ?? keyed(right, [left])
  }
  if (node.op !== 'in') return null
  const [item, list] = node.args
  return list.op === 'list' ? keyed(item, list.args) : null
}

function keyed(variable: ASTNode, values: readonly ASTNode[]): Key | null {
  if (variable.op !== 'id') return null
  const field = conditionKeyFields.find((name) => name === variable.args)
  const texts = values.flatMap((value) => textOf(value) ?? [])
  return field === undefined || texts.length < values.length || texts.length === 0 ? null : { field, texts }
}

function textOf(node: ASTNode): string | null {
  return node.op === 'value' && typeof node.args === 'string' ? node.args : null
}
