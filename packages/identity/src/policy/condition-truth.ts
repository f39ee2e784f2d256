import type { ASTNode } from '@marcbachmann/cel-js'
import { partKey } from './condition-part.ts'
import { remembered } from './condition-readings.ts'
import type { Readings } from './condition-readings.ts'
import type { ConditionVariable } from './condition-values.ts'
import { createTextSearch } from './text-search.ts'

/** Returns the readings of an effect for which a condition holds. Throws for a value of another type than declared. */
export type Truth = (of: Readings) => number

type Value = string | number | boolean | null | undefined | readonly Value[]

export interface CompiledCondition extends ConditionNeeds {
  readonly truth: Truth
  readonly needsOf: (part: ASTNode) => ConditionNeeds
}

/** Without what a condition or a part of one cannot hold. */
export interface ConditionNeeds {
  /**
   * Parts that must all hold for some reading. Equal parts of the conditions of a policy are the same function.
   */
  readonly needs: readonly Truth[]
  /** Those needs that compare a number of the effect with a literal. */
  readonly bounds: readonly NumberBound[]
}

/** A number of an effect that must be above or below a limit, or equal to it. */
export interface NumberBound {
  /** Returns the least and the greatest value for the readings of an effect; equal terms have the same function. */
  readonly extremesOf: Term['extremesOf']
  readonly isAbove: boolean
  readonly limit: number
}

/** A part of a condition that has a value. */
interface Term {
  /** The value for each reading; a single one if it is the same for all. */
  readonly valuesOf: (of: Readings) => readonly Value[]
  /** The least and the greatest of the values, if they are numbers. */
  readonly extremesOf: (of: Readings) => readonly [number, number]
  /** Whether the value differs with the reading of the path. */
  readonly usesPath: boolean
}

/** Whether several conditions have a comparison, so that its result is kept. */
interface Use {
  isShared: boolean
}

type MadeTerm = Omit<Term, 'extremesOf'>

/**
 * Creates the compiler for the conditions of one policy, whose types the library has checked. Equal parts of several
 * conditions are evaluated once for an effect, for all readings of its path. The library needs a microsecond for each
 * condition and reading, so 500 rules would take too long.
 */
export function createConditionCompiler(): (node: ASTNode) => CompiledCondition {
  const truths = new Map<string, { readonly truth: Truth; readonly use: Use }>()
  const terms = new Map<string, Term>()
  const needs = new Map<string, Truth>()
  const searches = new Map<string, ReturnType<typeof createTextSearch>>()

  function truthOf(node: ASTNode): Truth {
    const key = partKey(node)
    const known = truths.get(key)
    if (known !== undefined) {
      known.use.isShared = true
      return known.truth
    }
    const use = { isShared: false }
    const truth = makeTruth(node, use)
    truths.set(key, { truth, use })
    return truth
  }

  function makeTruth(node: ASTNode, use: Use): Truth {
    if (node.op === '&&' || node.op === '||') {
      const [left, right] = [truthOf(node.args[0]), truthOf(node.args[1])]
      if (node.op === '&&') {
        return (of) => {
          const held = left(of)
          return held === 0 ? 0 : held & right(of)
        }
      }
      return (of) => {
        const held = left(of)
        return held === of.all ? held : held | right(of)
      }
    }
    if (node.op === '!_') {
      const negated = truthOf(node.args)
      return (of) => of.all & ~negated(of)
    }
    if (node.op === '?:') {
      const [chosen, held, failed] = [truthOf(node.args[0]), truthOf(node.args[1]), truthOf(node.args[2])]
      return (of) => {
        const choice = chosen(of)
        return (choice === 0 ? 0 : choice & held(of)) | (choice === of.all ? 0 : ~choice & failed(of))
      }
    }
    // The library's check leaves only such functions with the type of a condition.
    if (node.op === 'rcall') return compared(node.args[0], [node.args[1], node.args[2][0] as ASTNode], use)
    if (node.op in comparisons) {
      return compared(node.op, node.args as readonly [ASTNode, ASTNode], use)
    }
    const isTrue = node.args === true
    return ({ all }) => (isTrue ? all : 0)
  }

  function compared(name: string, [leftNode, rightNode]: readonly [ASTNode, ASTNode], use: Use): Truth {
    const test = comparisons[name as keyof typeof comparisons] as (a: Value, b: Value) => boolean
    const [left, right] = [termOf(leftNode), termOf(rightNode)]
    const among = searchFor(name, leftNode, rightNode)
    // Most are comparisons with a literal.
    const literal = rightNode.op === 'value' ? plain(rightNode.args) : undefined
    if (!left.usesPath && !right.usesPath) {
      return remembered((of) => {
        if (among !== null && among(of) === 0) return 0
        const value = left.valuesOf(of)[0]
        return test(value, literal ?? right.valuesOf(of)[0]) ? of.all : 0
      }, use)
    }
    const extremes = typeof literal === 'number' && name in orders ? left.extremesOf : null
    return remembered((of) => {
      const candidates = among === null ? of.all : among(of)
      if (candidates === 0) return 0
      const ends = extremes?.(of)
      if (ends !== undefined) {
        const least = test(ends[0], literal)
        // An order holds for all numbers if it holds for the least and the greatest, and so does its opposite.
        if (least === test(ends[1], literal)) return least ? of.all : 0
      }
      const lefts = left.valuesOf(of)
      const rights = right.valuesOf(of)
      let found = 0
      for (let at = 0; at < of.paths.length; at += 1) {
        const reading = 1 << at
        if ((candidates & reading) !== 0 && test(valueAt(lefts, at), valueAt(rights, at))) found |= reading
      }
      return found
    }, use)
  }

  /** Finds the readings in which the text of a comparison occurs, so that others are not tested; null without one. */
  function searchFor(name: string, searched: ASTNode, part: ASTNode): Truth | null {
    const text = part.op === 'value' ? part.args : null
    const term = termOf(searched)
    const isSearched = textTests.has(name) || (name === '==' && term.usesPath)
    if (!isSearched || typeof text !== 'string' || text === '') return null
    return shared(searches, partKey(searched), () => createTextSearch(term.valuesOf))(text)
  }

  function termOf(node: ASTNode): Term {
    return shared(terms, partKey(node), () => {
      const { usesPath, valuesOf: compute } = makeTerm(node)
      // The values of a literal are the same for all effects.
      const valuesOf = node.op === 'value' ? compute : remembered(compute)
      return { usesPath, valuesOf, extremesOf: extremesOf(valuesOf) }
    })
  }

  function makeTerm(node: ASTNode): MadeTerm {
    if (node.op === 'value') {
      const values = [plain(node.args)]
      return { usesPath: false, valuesOf: () => values }
    }
    if (node.op === 'id') {
      const name = node.args as ConditionVariable
      if (name === 'path') return { usesPath: true, valuesOf: ({ paths }) => paths }
      return { usesPath: false, valuesOf: ({ values }) => [values[name]] }
    }
    if (node.op === 'list') return joined(node.args.map(termOf), (values) => values)
    if (node.op === 'rcall' && node.args[0] === 'size') return joined([termOf(node.args[1])], sizeOf)
    if (node.op === 'rcall' && node.args[0] === 'lowerAscii') return joined([termOf(node.args[1])], lowered)
    if (node.op === '?:') {
      const chosen = truthOf(node.args[0])
      const [held, failed] = [termOf(node.args[1]), termOf(node.args[2])]
      return eachPath((of, at) => valueAt((chosen(of) & (1 << at) ? held : failed).valuesOf(of), at))
    }
    const truth = truthOf(node)
    return eachPath((of, at) => (truth(of) & (1 << at)) !== 0)
  }

  function needOf(node: ASTNode, isNegated: boolean): Truth {
    const truth = truthOf(node)
    return shared(needs, `${isNegated ? '!' : ''}${partKey(node)}`, () => (of) => {
      try {
        return isNegated ? of.all & ~truth(of) : truth(of)
      } catch {
        // The condition decides, which fails as well.
        return of.all
      }
    })
  }

  function boundOf({ op, args }: ASTNode, isNegated: boolean): NumberBound | null {
    if (!(op in orders)) return null
    const [left, right] = args as readonly [ASTNode, ASTNode]
    const isTurned = left.op === 'value'
    const [term, literal] = isTurned ? [right, left] : [left, right]
    const limit = literal.op === 'value' ? plain(literal.args) : null
    if (typeof limit !== 'number') return null
    const isAbove = op.startsWith('>') !== (isTurned !== isNegated)
    return { extremesOf: termOf(term).extremesOf, isAbove, limit }
  }

  function needsOf(node: ASTNode): ConditionNeeds {
    const parts = [...partsOf(node, false)]
    return {
      needs: parts.map(([part, isNegated]) => needOf(part, isNegated)),
      bounds: parts.flatMap(([part, isNegated]) => boundOf(part, isNegated) ?? []),
    }
  }

  return (node) => ({ ...needsOf(node), truth: truthOf(node), needsOf })
}

/** The parts that must all hold, each with whether it is negated. */
function* partsOf(node: ASTNode, isNegated: boolean): Iterable<readonly [ASTNode, boolean]> {
  if (node.op === '!_') yield* partsOf(node.args, !isNegated)
  else if (node.op === (isNegated ? '||' : '&&')) {
    for (const part of node.args as readonly ASTNode[]) yield* partsOf(part, isNegated)
  } else yield [node, isNegated]
}

/** A term whose value follows from those of others. */
function joined(parts: readonly Term[], join: (values: readonly Value[]) => Value): MadeTerm {
  const valueFor = (of: Readings, at: number) => join(parts.map((part) => valueAt(part.valuesOf(of), at)))
  if (parts.some(({ usesPath }) => usesPath)) return eachPath(valueFor)
  return { usesPath: false, valuesOf: (of) => [valueFor(of, 0)] }
}

function eachPath(valueFor: (of: Readings, at: number) => Value): MadeTerm {
  return { usesPath: true, valuesOf: (of) => of.paths.map((_path, at) => valueFor(of, at)) }
}

function valueAt(values: readonly Value[], at: number): Value {
  return values.length === 1 ? values[0] : values[at]
}

function extremesOf(valuesOf: Term['valuesOf']): Term['extremesOf'] {
  return remembered((of) => {
    const numbers = valuesOf(of) as readonly number[]
    return [Math.min(...numbers), Math.max(...numbers)]
  })
}

const textTests: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains'])
const orders = {
  '<': (a: number, b: number) => a < b,
  '<=': (a: number, b: number) => a <= b,
  '>': (a: number, b: number) => a > b,
  '>=': (a: number, b: number) => a >= b,
} as const
const comparisons = {
  ...orders,
  startsWith: (value: string, text: string) => value.startsWith(text),
  endsWith: (value: string, text: string) => value.endsWith(text),
  contains: (value: string, text: string) => value.includes(text),
  '==': isEqual,
  '!=': (a: Value, b: Value) => !isEqual(a, b),
  in: (item: Value, list: readonly Value[]) =>
    typeof item === 'object' ? list.some((one) => isEqual(item, one)) : list.includes(item),
} as const

function isEqual(a: Value, b: Value): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b
  return a.length === b.length && a.every((one, at) => isEqual(one, b[at]))
}

/** Whole numbers of the language are compared with others as numbers. */
function plain(value: unknown): Value {
  return (typeof value === 'bigint' ? Number(value) : value) as Value
}

function sizeOf([value]: readonly Value[]): number {
  // The language counts the characters of a text, and not the halves of pairs.
  let count = 0
  for (const _part of value as string | readonly Value[]) count += 1
  return count
}

function lowered([value]: readonly Value[]): string {
  return (value as string).toLowerCase()
}

function shared<T>(known: Map<string, T>, key: string, make: () => T): T {
  let one = known.get(key)
  if (one === undefined) known.set(key, (one = make()))
  return one
}
