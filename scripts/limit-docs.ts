import { parseAst } from 'vitest/node'
import { meshPackages } from '../tests/package-rules.ts'
import type { SourceFile } from '../tests/source-files.ts'

/** A constant of the sources that limits a size, a time or a number, with the comment above it. */
interface Limit {
  /** Name of the constant; members of an object follow after dots. */
  readonly name: string
  readonly value: number
  readonly meaning: string
  /** Path of the file, from the repository's root. */
  readonly path: string
}

interface Node {
  readonly type: string
  readonly start: number
  readonly [member: string]: unknown
}

const zones = [
  { title: 'Both sides of an API', packages: ['protocol'] },
  ...meshPackages.map(({ name }) => ({ title: `Mesh: ${name}`, packages: [name] })),
  { title: 'Agents', packages: ['agent'] },
  { title: 'The browser service', packages: ['browser'] },
  { title: 'Command line and dashboard', packages: ['cli', 'dashboard', 'client'] },
]

/**
 * The last words of names of limits, each with a function that prints the value; a constant whose name ends in no
 * such word is not a limit.
 */
const units: readonly { readonly word: RegExp; readonly print: (value: number) => string }[] = [
  { word: /(?:Ms|\bms)(?:Max|Min)?$/, print: durationText },
  {
    word: /(?:Seconds|seconds|MaxSeconds|secondsMax|SecondsMax)$/,
    print: (value) => durationText(value * 1000),
  },
  { word: /(?:Bytes|bytes)(?:Max|Min)?$/, print: bytesText },
  { word: /(?:Chars|chars|Characters)(?:Max|Min)?$/, print: (value) => `${grouped(value)} characters` },
  { word: /(?:Max|Min|max|min|default|Default|PerMinute|PerSecond|PerDay)$/, print: grouped },
]

/**
 * Returns docs/reference/limits.md: every constant with a unit or a bound in its name, with its value and its
 * comment.
 */
export function limitDocs(files: readonly SourceFile[]): string {
  const limits = files
    .filter(({ path, isTest }) => !isTest && /^packages\/[\w-]+\/src\/.*\.tsx?$/.test(path))
    .flatMap(limitsIn)
  return [
    '# Limits',
    '',
    'Generated from the sources by `npm run docs`: every constant that bounds a size, a time or a number, where it is',
    'defined, and the first sentence of the comment above it. Limits that an owner can set are among the [settings](all-settings.md).',
    ...zones.flatMap(({ title, packages }) => {
      const rows = limits.filter(({ path }) => packages.includes(path.split('/')[1] ?? ''))
      return rows.length === 0 ? [] : ['', `## ${title}`, '', ...tableOf(rows)]
    }),
    '',
  ].join('\n')
}

function tableOf(limits: readonly Limit[]): readonly string[] {
  return [
    '| limit | value | meaning | file |',
    '|---|---|---|---|',
    ...limits
      .toSorted(
        (one, other) => one.path.localeCompare(other.path, 'en') || one.name.localeCompare(other.name, 'en'),
      )
      .map(({ name, value, meaning, path }) => {
        return `| ${name} | ${printed(name, value)} | ${meaning} | \`${path}\` |`
      }),
  ]
}

function limitsIn({ path, text }: SourceFile): readonly Limit[] {
  const known = new Map<string, number>()
  const program = parseAst(text, { lang: path.endsWith('x') ? 'tsx' : 'ts' })
  return (program.body as unknown as readonly Node[]).flatMap((statement) => {
    const declared = (statement['declaration'] ?? statement) as Node
    if (declared.type !== 'VariableDeclaration' || declared['kind'] !== 'const') return []
    const meaning = commentAbove(text, statement.start)
    return (declared['declarations'] as readonly Node[]).flatMap((one) => {
      const name = (one['id'] as Node)['name']
      if (typeof name !== 'string' || one['init'] === null) return []
      const value = numberOf(one['init'] as Node, known)
      if (value !== null) known.set(name, value)
      return leavesOf({ text, known }, { name, meaning }, one['init'] as Node).map((leaf) => ({
        ...leaf,
        path,
      }))
    })
  })
}

type Leaf = Omit<Limit, 'path'>

/** Returns the numbers in the value of a constant: the value itself, or the members of an object. */
function leavesOf(
  { text, known }: { readonly text: string; readonly known: ReadonlyMap<string, number> },
  { name, meaning }: Omit<Leaf, 'value'>,
  node: Node,
): readonly Leaf[] {
  const value = numberOf(node, known)
  if (value !== null) return isLimit(name) ? [{ name, value, meaning }] : []
  const inner = unwrapped(node)
  if (inner.type !== 'ObjectExpression') return []
  return (inner['properties'] as readonly Node[]).flatMap((property) => {
    const key = property['key'] as Node | undefined
    const own = key?.['name'] ?? key?.['value']
    // The schemas of tools are left out, because docs/tools.md has them.
    if (property.type !== 'Property' || typeof own !== 'string' || own === 'parameters') return []
    const above = commentAbove(text, property.start)
    const member = { name: `${name}.${own}`, meaning: above === '' ? meaning : above }
    return leavesOf({ text, known }, member, property['value'] as Node)
  })
}

function isLimit(name: string): boolean {
  return units.some(({ word }) => word.test(name))
}

/** Returns the expression inside `as const` and `satisfies`, which leave the value unchanged. */
function unwrapped(node: Node): Node {
  const inner = node['expression'] as Node | undefined
  return inner !== undefined && /^TS(?:As|Satisfies)Expression$/.test(node.type) ? unwrapped(inner) : node
}

/** The number that an expression of literals and constants of the same file gives; null for any other expression. */
function numberOf(node: Node, known: ReadonlyMap<string, number>): number | null {
  const inner = unwrapped(node)
  if (inner.type === 'Literal') return typeof inner['value'] === 'number' ? inner['value'] : null
  if (inner.type === 'Identifier') return known.get(inner['name'] as string) ?? null
  if (inner.type !== 'BinaryExpression') return null
  const left = numberOf(inner['left'] as Node, known)
  const right = numberOf(inner['right'] as Node, known)
  if (left === null || right === null) return null
  const results: Readonly<Record<string, number>> = {
    '*': left * right,
    '/': left / right,
    '+': left + right,
    '-': left - right,
    '**': left ** right,
  }
  return results[inner['operator'] as string] ?? null
}

/** The comment that ends on the line before `start`, as one line; empty if there is no comment. */
function commentAbove(text: string, start: number): string {
  const above = text.slice(0, start).trimEnd()
  const lines = above.split('\n')
  if (above.endsWith('*/')) {
    const from = above.lastIndexOf('/**')
    return from < 0 ? '' : plain(above.slice(from))
  }
  const first = lines.findLastIndex((line) => !/^\s*\/\//.test(line)) + 1
  return plain(lines.slice(first).join('\n'))
}

const plain = (comment: string): string =>
  comment
    .replaceAll(/^\s*(?:\/\*\*?|\*(?!\/)|\/\/)|\s*\*\/$/gm, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/(?<=[a-z`)]\.) [A-Z][\s\S]*$/, '')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .replaceAll('{', '\\{')

function printed(name: string, value: number): string {
  return units.find(({ word }) => word.test(name))?.print(value) ?? grouped(value)
}

function durationText(ms: number): string {
  const steps = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ] as const
  const [unit, length] = steps.find(([, one]) => ms >= one && ms % one === 0) ?? ['ms', 1]
  return `${grouped(ms / length)} ${unit}`
}

function bytesText(bytes: number): string {
  const steps = [
    ['GiB', 1024 ** 3],
    ['MiB', 1024 ** 2],
    ['KiB', 1024],
  ] as const
  const [unit, size] = steps.find(([, one]) => bytes >= one && bytes % one === 0) ?? ['bytes', 1]
  return `${grouped(bytes / size)} ${unit}`
}

function grouped(value: number): string {
  return value.toLocaleString('en', { maximumFractionDigits: 6 })
}
