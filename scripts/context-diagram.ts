import type { SourceFile } from '../tests/source-files.ts'

/** The contexts of the mesh, from the lowest up, each with its modules (folders of packages/mesh/src). */
const contexts: readonly (readonly [name: string, modules: readonly string[]])[] = [
  ['foundation', ['platform', 'config', 'storage', 'journal', 'events', 'intake', 'lease', 'kernel']],
  ['identity', ['access', 'people', 'http', 'effects']],
  ['fleet', ['agents', 'isolation', 'sandbox']],
  ['work', ['runs', 'tasks', 'approvals', 'pauses', 'spawning', 'control']],
  ['egress', ['credentials', 'egress', 'skills']],
  ['inference', ['models', 'spending', 'replay']],
  ['collaboration', ['collaboration']],
  ['browser', ['browser']],
  ['wallet', ['wallet']],
  ['inbound', ['channels', 'triggers']],
  [
    'operations',
    ['backup', 'diagnostics', 'telemetry', 'pruning', 'setup', 'templates', 'introspection', 'dashboard'],
  ],
]

const mesh = 'packages/mesh/src/'

/**
 * A Mermaid flowchart of the contexts: an arrow for each that imports another, without those that a longer path
 * implies. Contexts whose modules import each other in both directions are joined by a dotted line.
 *
 * @throws if a module belongs to no context.
 */
export function contextDiagram(files: readonly SourceFile[]): string {
  const imports = importsBetweenContexts(files)
  const pairs = contexts.flatMap(([from]) =>
    contexts.filter(([to]) => to !== from && imports.has(`${from} ${to}`)).map(([to]) => [from, to] as const),
  )
  const isMutual = (from: string, to: string) => imports.has(`${to} ${from}`)
  const oneWay = pairs.filter(([from, to]) => !isMutual(from, to))
  const isImplied = ([from, to]: readonly [string, string]) =>
    oneWay.some(([start, middle]) => start === from && middle !== to && reaches(oneWay, middle, to))
  return [
    '```mermaid',
    'flowchart BT',
    ...contexts.map(([name, modules]) => `  ${name}["${name}<br/><small>${modules.join(', ')}</small>"]`),
    ...oneWay.filter((pair) => !isImplied(pair)).map(([from, to]) => `  ${from} --> ${to}`),
    ...pairs
      .filter(([from, to]) => isMutual(from, to) && from < to)
      .map(([from, to]) => `  ${from} -.-|both ways| ${to}`),
    '```',
  ].join('\n')
}

function importsBetweenContexts(files: readonly SourceFile[]): ReadonlySet<string> {
  const found = new Set<string>()
  for (const { path, imports, isTest } of files) {
    if (isTest || !path.startsWith(mesh) || !path.slice(mesh.length).includes('/')) continue
    const [folder = '', ...below] = path.slice(mesh.length).split('/')
    if (folder === 'app' || folder === 'testing') continue
    for (const { specifier } of imports) {
      const target = targetFolder([folder, ...below], specifier)
      if (target === undefined || target === 'testing') continue
      found.add(`${contextOf(folder)} ${contextOf(target)}`)
    }
  }
  return found
}

/** The first folder below packages/mesh/src that a relative import leads to; undefined for other imports. */
function targetFolder(from: readonly string[], specifier: string): string | undefined {
  if (!specifier.startsWith('../')) return undefined
  const ups = specifier.split('/').filter((part) => part === '..').length
  const kept = from.slice(0, from.length - 1 - ups)
  const [first] = [...kept, ...specifier.split('/').filter((part) => part !== '..')]
  return first?.endsWith('.ts') ? undefined : first
}

function contextOf(folder: string): string {
  const context = contexts.find(([, modules]) => modules.includes(folder))
  if (context === undefined) throw new Error(`the module ${folder} belongs to no context`)
  return context[0]
}

function reaches(pairs: readonly (readonly [string, string])[], from: string, to: string): boolean {
  const seen = new Set([from])
  for (const at of seen) for (const [start, end] of pairs) if (start === at) seen.add(end)
  return seen.has(to)
}
