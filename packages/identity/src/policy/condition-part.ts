import { serialize } from '@marcbachmann/cel-js'
import type { ASTNode } from '@marcbachmann/cel-js'

/**
 * Returns a text that two parts of conditions have in common only if they are equal. The library's own text is not one:
 * it leaves out brackets within comparisons and digits of numbers. Pure.
 */
export function partKey(node: ASTNode): string {
  const { op, args } = node
  if (op === 'value') return typeof args === 'object' ? serialize(node) : valueKey(args)
  if (op === 'id') return args
  if (op === 'rcall') return `.${args[0]}(${[args[1], ...args[2]].map(partKey).join()})`
  const parts = (Array.isArray(args) ? args : [args]) as readonly ASTNode[]
  return `${op}(${parts.map(partKey).join()})`
}

/** Whole numbers and others are different types of the language. */
function valueKey(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : `${typeof value} ${String(value)}`
}
