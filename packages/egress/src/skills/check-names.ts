import type { AnyNode, Expression, PrivateIdentifier, Super } from 'acorn'
import { skillGlobals } from '@flotilla/protocol/skill-surface'
import { declaredNames } from './declared-names.ts'
import { forbiddenAttributes, forbiddenCalls, forbiddenRelatives } from './forbidden-names.ts'
import type { Faults } from './skill-fault.ts'
import { walkNodes } from './walk-nodes.ts'
import type { Visit } from './walk-nodes.ts'

const allowedGlobals: ReadonlySet<string> = new Set(skillGlobals)
const computedHint =
  'a property name that is computed at run time is not allowed; write items[+index] or items.at(index) for lists, and use a Map for keys'
/** The two symbols that make an object iterable. */
const allowedSymbols: readonly string[] = ['iterator', 'asyncIterator']
/** The results of these operators are numbers, whatever the operands, or they throw. */
const numericOperators: readonly string[] = ['-', '*', '/', '%', '**', '|', '&', '^', '<<', '>>', '>>>']

/**
 * Whether a name is a global of every program, so that a source may neither use nor redefine it without
 * permission.
 */
export type IsGlobal = (name: string) => boolean

/** Checks names, members and computed access of a whole source. Pure. */
export function checkNames(program: AnyNode, faults: Faults, isGlobal: IsGlobal): void {
  const declared = declaredNames(program)
  for (const [name, node] of declared) {
    const why = reasonOf(name)
    if (why) faults.add(node, why.rule, `a skill may not declare ${name}: the name ${why.reason}`)
    else if (isGlobal(name)) {
      faults.add(node, 'unknown-name', `${name} is the name of a built-in global; choose another name`)
    }
  }
  for (const visit of walkNodes(program)) {
    const { node } = visit
    if (node.type === 'Identifier' && isReference(visit)) {
      if (!declared.has(node.name)) checkFreeName(visit, faults)
    } else if (node.type === 'MemberExpression') checkMember(node, faults)
    else if (node.type === 'Property') checkProperty(visit, faults)
    else if (node.type === 'ImportExpression') {
      faults.add(node, 'forbidden-call', `import() is not allowed: it ${forbiddenCalls['import']}`)
    } else if (node.type === 'MetaProperty' && node.meta.name === 'import') {
      faults.add(node, 'forbidden-attribute', 'import.meta is not allowed: it reveals the path of the skill')
    } else if (isComputedMethod(node)) checkKey(node.key, true, faults)
  }
}

function reasonOf(
  name: string,
): { rule: 'forbidden-call' | 'forbidden-attribute'; reason: string } | undefined {
  const call = own(forbiddenCalls, name) ?? own(forbiddenRelatives, name)
  if (call !== undefined) return { rule: 'forbidden-call', reason: call }
  const attribute = own(forbiddenAttributes, name)
  return attribute === undefined ? undefined : { rule: 'forbidden-attribute', reason: attribute }
}

function own(record: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}

function checkFreeName({ node }: Visit, faults: Faults): void {
  if (node.type !== 'Identifier' || allowedGlobals.has(node.name)) return
  const why = reasonOf(node.name)
  if (why) faults.add(node, why.rule, `${node.name} is not allowed in a skill: it ${why.reason}`)
  else if (node.name === 'arguments') {
    faults.add(node, 'unknown-name', 'arguments is not allowed in a skill; write ...rest in the parameters')
  } else {
    faults.add(
      node,
      'unknown-name',
      `${node.name} does not exist in a skill; use mesh_client for everything outside the skill`,
    )
  }
}

function checkMember(node: Extract<AnyNode, { type: 'MemberExpression' }>, faults: Faults): void {
  checkKey(node.property, node.computed, faults)
}

/** Keys of object literals are free except `__proto__`; keys of patterns read members, so they are checked. */
function checkProperty({ node, parent }: Visit, faults: Faults): void {
  if (node.type !== 'Property') return
  const reads = parent?.type === 'ObjectPattern'
  if (reads || node.computed) checkKey(node.key, node.computed, faults)
  else if (literalName(node.key, false) === '__proto__') {
    faults.add(
      node,
      'forbidden-attribute',
      `__proto__ is not allowed in a skill: it ${forbiddenAttributes['__proto__']}`,
    )
  }
}

function checkKey(key: Expression | PrivateIdentifier | Super, computed: boolean, faults: Faults): void {
  const name = literalName(key, computed)
  if (name === undefined) {
    if (!isNumeric(key) && !isIterableSymbol(key)) faults.add(key, 'computed-access', computedHint)
    return
  }
  const why = reasonOf(name)
  if (why) faults.add(key, why.rule, `${name} is not allowed in a skill: it ${why.reason}`)
}

/** Returns the name of a key if the source determines it; undefined if it is known only at run time. */
function literalName(key: Expression | PrivateIdentifier | Super, computed: boolean): string | undefined {
  if (key.type === 'PrivateIdentifier') return `#${key.name}`
  if (key.type === 'Identifier' && !computed) return key.name
  if (key.type === 'Literal' && !('regex' in key && key.regex)) return String(key.value)
  if (key.type === 'TemplateLiteral' && key.expressions.length === 0) {
    return key.quasis[0]?.value.cooked ?? undefined
  }
  return undefined
}

function isNumeric(key: AnyNode): boolean {
  if (key.type === 'UpdateExpression') return true
  if (key.type === 'UnaryExpression') return ['+', '-', '~'].includes(key.operator)
  return key.type === 'BinaryExpression' && numericOperators.includes(key.operator)
}

function isIterableSymbol(key: AnyNode): boolean {
  return (
    key.type === 'MemberExpression' &&
    !key.computed &&
    key.object.type === 'Identifier' &&
    key.object.name === 'Symbol' &&
    key.property.type === 'Identifier' &&
    allowedSymbols.includes(key.property.name)
  )
}

function isComputedMethod(
  node: AnyNode,
): node is Extract<AnyNode, { type: 'MethodDefinition' | 'PropertyDefinition' }> {
  return (node.type === 'MethodDefinition' || node.type === 'PropertyDefinition') && node.computed
}

/** Whether an identifier is a value, and not the name of a member, a key, a label or a declaration. */
function isReference({ node, parent, key }: Visit): boolean {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- of a grammar's seventy kinds these matter here
  switch (parent?.type) {
    case 'MemberExpression':
      return key === 'object' || parent.computed
    case 'Property':
      return key === 'value' || parent.computed
    case 'MethodDefinition':
    case 'PropertyDefinition':
      return key === 'value' || parent.computed
    case 'LabeledStatement':
    case 'BreakStatement':
    case 'ContinueStatement':
    case 'MetaProperty':
      return false
    case 'ImportSpecifier':
    case 'ImportDefaultSpecifier':
    case 'ImportNamespaceSpecifier':
    // An exported name is declared in this source, or the parser rejects the source; or it is a name of another
    // module.
    case 'ExportSpecifier':
      return false
    default:
      return node.type === 'Identifier'
  }
}
