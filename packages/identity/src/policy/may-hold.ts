import type { ASTNode } from '@marcbachmann/cel-js'
import type { ConditionValues } from './condition-values.ts'

/** What is known about a condition for some values without evaluating it; a part that is not known may be either. */
interface Known {
  /** False if the condition certainly does not hold. */
  readonly may: Test
  /** True if the condition certainly holds. */
  readonly must: Test
}
type Test = (values: ConditionValues) => boolean

const unknown: Known = { may: () => true, must: () => false }

/**
 * Compiles the comparisons of a condition, so that most rules of many are excluded without the library's evaluation,
 * which takes a microsecond. Returns false if the condition certainly does not hold; where it returns true, the library
 * decides. Pure.
 */
export function compileMayHold(node: ASTNode): Test {
  return known(node).may
}

function known(node: ASTNode): Known {
  if (node.op === '&&' || node.op === '||') {
    const [left, right] = [known(node.args[0]), known(node.args[1])]
    const join = node.op === '&&' ? both : either
    return { may: join(left.may, right.may), must: join(left.must, right.must) }
  }
  if (node.op === '!_') {
    const { may, must } = known(node.args)
    return { may: (values) => !must(values), must: (values) => !may(values) }
  }
  if (node.op === '?:') {
    const [chosen, held, failed] = [known(node.args[0]), known(node.args[1]), known(node.args[2])]
    return {
      may: (values) =>
        (chosen.may(values) && held.may(values)) || (!chosen.must(values) && failed.may(values)),
      must: () => false,
    }
  }
  if (typeof node.args === 'boolean') {
    const value = node.args
    return { may: () => value, must: () => value }
  }
  const test = comparison(node)
  if (test === null) return unknown
  return { may: (values) => test(values) !== false, must: (values) => test(values) === true }
}

function both(left: Test, right: Test): Test {
  return (values) => left(values) && right(values)
}

function either(left: Test, right: Test): Test {
  return (values) => left(values) || right(values)
}

/** The result of a comparison; null if the value has another type. */
type Comparison = (values: ConditionValues) => boolean | null

function comparison(node: ASTNode): Comparison | null {
  if (node.op === 'rcall') {
    const [name, receiver, [argument]] = node.args
    const read = reader(receiver)
    const text = argument === undefined ? undefined : literal(argument)
    if (read === null || typeof text !== 'string' || !isTextTest(name)) return null
    const test = textTests[name]
    return (values) => {
      const value = read(values)
      return typeof value === 'string' ? test(value, text) : null
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
    return typeof value === typeof bound ? test(value as string, bound as string) : null
  }
}

function membership(item: ASTNode, list: ASTNode): Comparison | null {
  const text = literal(item)
  const readList = reader(list)
  if (typeof text === 'string' && readList !== null) {
    return (values) => {
      const value = readList(values)
      return Array.isArray(value) ? value.includes(text) : null
    }
  }
  const read = reader(item)
  if (read === null || list.op !== 'list') return null
  const items = new Set(list.args.map(literal))
  if ([...items].some((one) => typeof one !== 'string')) return null
  return (values) => {
    const value = read(values)
    return typeof value === 'string' ? items.has(value) : null
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

/** Reads a variable, as it is or in lower case; null for any other part. */
function reader(node: ASTNode): ((values: ConditionValues) => ConditionValues[keyof ConditionValues]) | null {
  if (node.op === 'rcall') {
    const read = node.args[0] === 'lowerAscii' ? reader(node.args[1]) : null
    if (read === null) return null
    return (values) => {
      const value = read(values)
      return typeof value === 'string' ? value.toLowerCase() : value
    }
  }
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
