import { parseAst } from 'vitest/node'
import type { SourceFile } from './source-files.ts'

/**
 * The shape of one file: the number of members of its records, the length of its functions, and names that are used
 * before their declaration.
 */
export interface Shape {
  readonly records: readonly { readonly name: string; readonly members: number }[]
  /** Lines of a function itself, without those of functions inside it and without blank lines. */
  readonly functions: readonly FunctionShape[]
  /** Constants that a closure names above their declaration in the same function. */
  readonly usedBefore: readonly string[]
}

export interface FunctionShape {
  readonly name: string
  readonly ownLines: number
  /** With those of the functions in it. */
  readonly allLines: number
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

/** A function that is being read: its lines, and those of the functions in it. */
interface Reading {
  readonly name: string
  readonly lines: readonly [first: number, last: number]
  readonly inner: (readonly [first: number, last: number])[]
}

interface Walk {
  readonly lineOf: (position: number) => number
  readonly isBlank: (line: number) => boolean
  readonly records: { name: string; members: number }[]
  readonly functions: FunctionShape[]
  readonly usedBefore: Set<string>
}

/** Names that a block or a function declares, and where; -1 for a parameter, which is there from the beginning. */
type Scope = ReadonlyMap<string, number>

export function shapeOf({ path, text }: Pick<SourceFile, 'path' | 'text'>): Shape {
  const lines = text.split('\n')
  const starts = [0]
  for (const line of lines) starts.push((starts.at(-1) ?? 0) + line.length + 1)
  const walk: Walk = {
    lineOf: (position) => {
      let [low, high] = [0, starts.length - 1]
      while (low < high) {
        const middle = (low + high + 1) >> 1
        if ((starts[middle] ?? 0) <= position) low = middle
        else high = middle - 1
      }
      return low
    },
    isBlank: (line) => (lines[line] ?? '').trim() === '',
    records: [],
    functions: [],
    usedBefore: new Set(),
  }
  const program: unknown = parseAst(text, { lang: path.endsWith('x') ? 'tsx' : 'ts' })
  visit(walk, program, { name: '', scopes: [], within: null })
  return { records: walk.records, functions: walk.functions, usedBefore: [...walk.usedBefore].toSorted() }
}

interface Place {
  /** What the nearest declaration is called. */
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly within: Reading | null
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
}

const functionTypes = new Set(['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'])

function visit(walk: Walk, found: unknown, place: Place): void {
  if (Array.isArray(found)) {
    for (const one of found) visit(walk, one, place)
    return
  }
  if (!isNode(found)) return
  note(walk, found, place)
  if (!functionTypes.has(found.type)) {
    visitParts(walk, found, inside(found, place))
    return
  }
  const name = nameIn(found['id']) ?? place.name
  const reading: Reading = {
    name,
    lines: [walk.lineOf(found.start), walk.lineOf(found.end)],
    inner: [],
  }
  place.within?.inner.push(reading.lines)
  const scopes = [...place.scopes, new Map(namesIn(found['params']).map((one) => [one, -1]))]
  visitParts(walk, found, { name, scopes, within: reading })
  const allLines = ownLinesOf(walk, { ...reading, inner: [] })
  walk.functions.push({ name, ownLines: ownLinesOf(walk, reading), allLines })
}

function visitParts(walk: Walk, node: Node, place: Place): void {
  for (const [key, part] of Object.entries(node)) {
    const isLabel = (key === 'property' || key === 'key') && node['computed'] !== true
    if (isLabel && isNode(part) && part.type === 'Identifier') continue
    visit(walk, part, place)
  }
}

function note(walk: Walk, node: Node, { name, scopes }: Place): void {
  if (node.type === 'TSInterfaceDeclaration') {
    const { body } = node['body'] as { readonly body: readonly unknown[] }
    walk.records.push({ name: nameIn(node['id']) ?? '', members: body.length })
  }
  if (node.type === 'TSTypeLiteral')
    walk.records.push({ name, members: (node['members'] as readonly unknown[]).length })
  if (node.type !== 'Identifier') return
  const used = String(node['name'])
  const declared = scopes.findLast((scope) => scope.has(used))?.get(used)
  if (declared !== undefined && declared > node.start) walk.usedBefore.add(used)
}

/** The place that applies to the children of a node that is not a function: its name, and the scopes around it. */
function inside(node: Node, place: Place): Place {
  const name =
    node.type === 'VariableDeclarator' || node.type === 'TSTypeAliasDeclaration'
      ? (nameIn(node['id']) ?? place.name)
      : node.type === 'Property'
        ? (nameIn(node['key']) ?? place.name)
        : place.name
  if (node.type === 'BlockStatement')
    return { ...place, name, scopes: [...place.scopes, declaredIn(node['body'] as readonly Node[])] }
  // What a loop declares is of the loop alone.
  if (node.type === 'ForOfStatement' || node.type === 'ForStatement' || node.type === 'ForInStatement') {
    const head = node['left'] ?? node['init']
    if (isNode(head) && head.type === 'VariableDeclaration')
      return { ...place, name, scopes: [...place.scopes, declaredIn([head])] }
  }
  return { ...place, name }
}

function declaredIn(body: readonly Node[]): Scope {
  const scope = new Map<string, number>()
  for (const statement of body) {
    if (statement.type !== 'VariableDeclaration') continue
    for (const declarator of statement['declarations'] as readonly Node[])
      for (const name of namesIn(declarator['id'])) scope.set(name, declarator.start)
  }
  return scope
}

/** Names that a pattern binds. */
function namesIn(pattern: unknown): string[] {
  if (Array.isArray(pattern)) return pattern.flatMap(namesIn)
  if (!isNode(pattern)) return []
  switch (pattern.type) {
    case 'Identifier':
      return [String(pattern['name'])]
    case 'ObjectPattern':
      return (pattern['properties'] as readonly Node[]).flatMap((one) =>
        namesIn(one['value'] ?? one['argument']),
      )
    case 'ArrayPattern':
      return namesIn(pattern['elements'])
    case 'AssignmentPattern':
      return namesIn(pattern['left'])
    case 'RestElement':
      return namesIn(pattern['argument'])
    default:
      return []
  }
}

function nameIn(id: unknown): string | undefined {
  return isNode(id) && id.type === 'Identifier' ? String(id['name']) : undefined
}

function ownLinesOf(walk: Walk, { lines: [first, last], inner }: Reading): number {
  const others = inner.filter(([from, to]) => to > from)
  let own = 0
  for (let line = first; line <= last; line++) {
    const isOthers = others.some(([from, to]) => line >= from && line <= to)
    if (!isOthers && !walk.isBlank(line)) own += 1
  }
  return own
}
