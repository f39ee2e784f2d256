import { meshPackages } from '../tests/package-rules.ts'
import type { SourceFile } from '../tests/source-files.ts'
import { contextOf, readContextEvents } from './context-events.ts'

type Edge = readonly [from: string, to: string]

/** The contexts of the mesh, from the lowest up; each is a package. */
const contexts = meshPackages.map(({ name }) => name).filter((name) => name !== 'mesh')

/**
 * Returns a Mermaid flowchart of the contexts with their modules. An arrow leads from each context to each that it
 * imports, except where a longer path implies it; a dotted arrow leads from each context to those that react to its
 * events.
 */
export function contextDiagram(files: readonly SourceFile[]): string {
  const pairs = importsBetweenContexts(files)
  const isImplied = ([from, to]: Edge) =>
    pairs.some(([start, middle]) => start === from && middle !== to && reaches(pairs, middle, to))
  return [
    '```mermaid',
    'flowchart BT',
    ...contexts.map((name) => `  ${name}["${name}<br/><small>${modulesOf(files, name).join(', ')}</small>"]`),
    ...pairs.filter((pair) => !isImplied(pair)).map(([from, to]) => `  ${from} --> ${to}`),
    ...reactions(files).map(([from, to, count]) => `  ${from} -. ${count} .-> ${to}`),
    '```',
  ].join('\n')
}

function importsBetweenContexts(files: readonly SourceFile[]): readonly Edge[] {
  return contexts.flatMap((from) => {
    const specifiers = new Set(
      files
        .filter(({ path, isTest }) => !isTest && path.startsWith(`packages/${from}/`))
        .flatMap(({ imports }) => imports.map(({ specifier }) => specifier.split('/')[1])),
    )
    return contexts.filter((to) => to !== from && specifiers.has(to)).map((to) => [from, to] as const)
  })
}

/**
 * Returns for each two contexts how many events of the first the other reacts to, and how many questions of the first
 * it answers.
 */
function reactions(files: readonly SourceFile[]): readonly (readonly [...Edge, count: number])[] {
  const events = readContextEvents(files)
  return contexts.flatMap((from) =>
    contexts
      .filter((to) => to !== from)
      .map((to) => {
        const heard = events.filter(
          ({ context, to: modules }) =>
            context === from && modules.some((module) => contextOf(module) === to),
        )
        return [from, to, heard.length] as const
      })
      .filter(([, , count]) => count > 0),
  )
}

/** The folders directly below `src` of a package. */
function modulesOf(files: readonly SourceFile[], name: string): readonly string[] {
  const found = files.flatMap(({ path }) => path.match(`^packages/${name}/src/([^/]+)/`)?.[1] ?? [])
  return [...new Set(found)].toSorted()
}

function reaches(pairs: readonly Edge[], from: string, to: string): boolean {
  const seen = new Set([from])
  for (const at of seen) for (const [start, end] of pairs) if (start === at) seen.add(end)
  return seen.has(to)
}
