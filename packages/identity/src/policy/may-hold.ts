import type { ASTNode } from '@marcbachmann/cel-js'
import type { ConditionValues } from './condition-values.ts'

/** False if the condition certainly does not hold for these values. */
export type MayHold = (values: ConditionValues) => boolean

/**
 * Compiles the comparisons of a condition, so that most rules of many are excluded without the library's evaluation,
 * which takes a microsecond. A part that is not known here counts as true; where the result is true, the library
 * decides. Pure.
 */
export function compileMayHold(node: ASTNode): MayHold {
  if (node.op === '&&' || node.op === '||') {
    const [left, right] = [compileMayHold(node.args[0]), compileMayHold(node.args[1])]
    return node.op === '&&'
      ? (values) => left(values) && right(values)
      : (values) => left(values) || right(values)
  }
  return comparison(node) ?? (() => true)
}

function comparison(node: ASTNode): MayHold | null {
  if (node.op === 'rcall') {
    const [name, receiver, [argument]] = node.args
    const read = reader(receiver)
    const text = argument === undefined ? undefined : literal(argument)
    if (read === null || typeof text !== 'string' || !isTextTest(name)) return null
    const test = textTests[name]
    return (values) => {
      const value = read(values)
      return typeof value !== 'string' || test(value, text)
    }
  }
  if (node.op === 'in') return membership(node.args[0], node.args[1])
  if (!isOrder(node.op)) return null
  const [left, right] = node.args as [ASTNode, ASTNode]
  const isTurned = reader(left) === null
  const read = reader(isTurned ? right : left)
  const bound = literal(isTurned ? left : right)
  if (read === null || bound === undefined) return null
  const test = orders[isTurned ? turned[node.op] : node.op]
  return (values) => {
    const value = read(values)
    return typeof value !== typeof bound || test(value as string, bound as string)
  }
}

function membership(item: ASTNode, list: ASTNode): MayHold | null {
  const text = literal(item)
  const readList = reader(list)
  if (typeof text === 'string' && readList !== null) {
    return (values) => {
      const value = readList(values)
      return !Array.isArray(value) || value.includes(text)
    }
  }
  const read = reader(item)
  if (read === null || list.op !== 'list') return null
  const items = new Set(list.args.map(literal))
  if ([...items].some((one) => typeof one !== 'string')) return null
  return (values) => {
    const value = read(values)
    return typeof value !== 'string' || items.has(value)
  }
}

const textTests = {
  startsWith: (value: string, text: string) => value.startsWith(text),
  endsWith: (value: string, text: string) => value.endsWith(text),
  contains: (value: string, text: string) => value.includes(text),
} as const
function isTextTest(name: string): name is keyof typeof textTests {
  return Object.hasOwn(textTests, name)
}

const orders = {
  '==': (a: string, b: string) => a === b,
  '!=': (a: string, b: string) => a !== b,
  '<': (a: string, b: string) => a < b,
  '<=': (a: string, b: string) => a <= b,
  '>': (a: string, b: string) => a > b,
  '>=': (a: string, b: string) => a >= b,
} as const
const turned = { '==': '==', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const
function isOrder(op: string): op is keyof typeof orders {
  return Object.hasOwn(orders, op)
}

/** Reads a variable; null for any other part. */
function reader(node: ASTNode): ((values: ConditionValues) => ConditionValues[keyof ConditionValues]) | null {
  if (node.op !== 'id') return null
  const name = node.args as keyof ConditionValues
  return (values) => values[name]
}

/** The value of a literal text or number; undefined for any other part. */
function literal(node: ASTNode): string | number | undefined {
  if (node.op !== 'value') return undefined
  const value: unknown = node.args
  return typeof value === 'string' || typeof value === 'number' ? value : undefined
}
