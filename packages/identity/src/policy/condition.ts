import { Environment } from '@marcbachmann/cel-js'
import type { ASTNode } from '@marcbachmann/cel-js'
import { conditionKeys } from './condition-keys.ts'
import type { ConditionKeys } from './condition-keys.ts'
import { conditionVariables } from './condition-values.ts'
import type { Readings } from './condition-readings.ts'
import { createConditionCompiler } from './condition-truth.ts'
import type { ConditionNeeds } from './condition-truth.ts'
import type { ConditionVariable } from './condition-values.ts'

/** The maximum length of one `when`, in characters. */
export const conditionMaxChars = 1000
/**
 * The maximum size of one `when`. Each node is evaluated at most once, because nothing that repeats is accepted, so
 * this also bounds the steps of an evaluation.
 */
const limits = {
  maxAstNodes: 100,
  maxDepth: 16,
  maxListElements: 50,
  maxMapEntries: 1,
  maxCallArguments: 3,
} as const

/**
 * The operators of the language that are accepted. Arithmetic, indexes, maps and macros are left out: each could make
 * the work or a value grow beyond the text of the rule.
 */
const operators: ReadonlySet<string> = new Set([
  'value',
  'id',
  'list',
  'rcall',
  '&&',
  '||',
  '!_',
  '?:',
  '==',
  '!=',
  '<',
  '<=',
  '>',
  '>=',
  'in',
])
/** Functions of texts whose work is linear. `matches` is left out: its regular expressions can take exponential time. */
const functions: ReadonlySet<string> = new Set(['startsWith', 'endsWith', 'contains', 'size', 'lowerAscii'])

const language = new Environment({ limits })
for (const [name, type] of Object.entries(conditionVariables)) language.registerVariable(name, type)

export interface Condition extends ConditionNeeds {
  readonly variables: readonly ConditionVariable[]
  readonly keys: ConditionKeys
  /** Returns the readings for which the condition holds; null if the evaluation failed. */
  truth(of: Readings): number | null
}

/**
 * Compiles a `when`, or returns the reason why it is refused. Never throws. The conditions of one policy share a
 * compiler. Pure.
 */
export function compileCondition(
  text: string,
  compileTruth = createConditionCompiler(),
): Condition | { readonly fault: string } {
  if (text.length > conditionMaxChars)
    return { fault: `the condition is longer than ${conditionMaxChars} characters` }
  try {
    const evaluate = language.parse(text)
    const variables = new Set<ConditionVariable>()
    const refused = refusedPart(evaluate.ast, variables)
    if (refused !== null)
      return { fault: `${refused} cannot be used in a condition; see the guide page on policy` }
    if ((variables.has('contract') || variables.has('payees')) && /0x[0-9a-f]*[A-F]/.test(text))
      return { fault: 'write hexadecimal addresses in lower case, as they are compared' }
    const check = evaluate.check()
    if (!check.valid) return { fault: firstLine(check.error) }
    if (check.type !== 'bool') return { fault: `the condition must be true or false, and is ${check.type}` }
    const { truth, needs, bounds, needsOf } = compileTruth(evaluate.ast)
    return {
      variables: [...variables],
      keys: conditionKeys(evaluate.ast, variables, needsOf),
      needs,
      bounds,
      truth: (of) => {
        try {
          return truth(of)
        } catch {
          return null
        }
      },
    }
  } catch (error) {
    return { fault: firstLine(error) }
  }
}

/** Returns the first part that is not accepted, as text; null if all parts are. Collects the variables. */
function refusedPart(node: ASTNode, variables: Set<ConditionVariable>): string | null {
  if (!operators.has(node.op)) return node.op === 'call' ? `the function ${node.args[0]}` : `"${node.op}"`
  if (node.op === 'value') return null
  if (node.op === 'id') {
    // The check of types refuses other names.
    variables.add(node.args as ConditionVariable)
    return null
  }
  if (node.op === 'rcall') {
    const [name, receiver, args] = node.args
    if (!functions.has(name)) return `the function ${name}`
    return firstRefused([receiver, ...args], variables)
  }
  return firstRefused(Array.isArray(node.args) ? node.args : [node.args], variables)
}

function firstRefused(nodes: readonly unknown[], variables: Set<ConditionVariable>): string | null {
  for (const node of nodes) {
    const refused = refusedPart(node as ASTNode, variables)
    if (refused !== null) return refused
  }
  return null
}

function firstLine(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.split('\n', 1)[0] ?? text
}
