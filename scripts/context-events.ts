import { meshPackages } from '../tests/package-rules.ts'
import { withoutComments } from '../tests/source-files.ts'
import type { SourceFile } from '../tests/source-files.ts'

/** An event or a question between contexts of the mesh, as its declaration and its uses show it. */
export interface ContextEvent {
  readonly name: string
  readonly kind: 'event' | 'awaited event' | 'question'
  /** The context that declares it. */
  readonly context: string
  /** The comment of its declaration. */
  readonly meaning: string
  /** The modules that publish the event or ask the question. */
  readonly from: readonly string[]
  /** The modules that react to the event or answer the question. */
  readonly to: readonly string[]
}

const kinds = { DomainEvent: 'event', AwaitedEvent: 'awaited event', Question: 'question' } as const
const declaration = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*readonly (\w+): (DomainEvent|AwaitedEvent|Question)</g
const contexts = meshPackages.map(({ name }) => name)

/** Reads the events of all contexts, in the order of the packages and of their declarations. */
export function readContextEvents(files: readonly SourceFile[]): readonly ContextEvent[] {
  const sources = files
    .filter(({ path, isTest }) => !isTest && contexts.some((name) => path.startsWith(`packages/${name}/`)))
    .map(({ path, text }) => ({ path, text: withoutComments(text) }))
  const using = (name: string, verbs: string): readonly string[] => {
    const use = new RegExp(String.raw`\b${name}\.(?:${verbs})\b`)
    return [
      ...new Set(sources.filter(({ text }) => use.test(text)).map(({ path }) => moduleOf(path))),
    ].toSorted(byContext)
  }
  return contexts.flatMap((context) =>
    files
      .filter(({ path }) => path === `packages/${context}/src/events/${context}-events.ts`)
      .flatMap(({ text }) => [...text.matchAll(declaration)])
      .map(([, comment = '', name = '', type]) => ({
        name,
        kind: kinds[type as keyof typeof kinds],
        context,
        meaning: comment.replaceAll(/\s*\n\s*\*\s?/g, ' ').trim(),
        from: using(name, 'publish|ask'),
        to: using(name, 'subscribe'),
      })),
  )
}

/** Returns `fleet/agents` for a file of a module, `fleet` for the file that wires a context. */
function moduleOf(path: string): string {
  const [, context = '', module = ''] = /^packages\/(\w+)\/src\/(?:(triggers\/\w+|\w+)\/)?/.exec(path) ?? []
  return module === '' || module === 'events' ? context : `${context}/${module}`
}

function byContext(a: string, b: string): number {
  const place = (module: string) => contexts.indexOf(contextOf(module))
  return place(a) - place(b) || a.localeCompare(b)
}

export function contextOf(module: string): string {
  return module.split('/')[0] ?? ''
}

/** Returns the page of all events: the contexts that publish each, and those that react. */
export function contextEventDocs(events: readonly ContextEvent[]): string {
  const rows = events.map(
    ({ name, kind, from, to, meaning }) =>
      `| \`${name}\` | ${kind} | ${from.join(', ')} | ${to.join(', ')} | ${meaning.replaceAll('|', '\\|')} |`,
  )
  const sections = [...new Set(events.map(({ context }) => context))].map((context) =>
    [
      `## ${context}`,
      '',
      '| name | kind | published or asked by | who reacts or answers | meaning |',
      '| --- | --- | --- | --- | --- |',
      ...rows.filter((_row, index) => events[index]?.context === context),
      '',
    ].join('\n'),
  )
  return [
    '# Events between contexts',
    '',
    '<!-- Written by `npm run docs` from the declarations and uses in the sources. -->',
    '',
    'Each context of the mesh declares its events in `packages/<context>/src/events/`. Contexts above subscribe; a context below knows none of them.',
    '',
    '- An **event** is synchronous: listeners run in the order of subscription, inside the transaction of the publisher. A listener that throws rolls it back.',
    '- An **awaited event** is for changes in files, which no transaction covers. Each listener is awaited before the next.',
    '- A **question** collects the answers of contexts above.',
    '',
    sections.join('\n'),
  ].join('\n')
}

/** Returns the line of a package's README about its events. */
export function readmeLine(events: readonly ContextEvent[], context: string): string {
  const isHere = (modules: readonly string[]) => modules.some((module) => contextOf(module) === context)
  const named = (words: string, found: readonly ContextEvent[]) =>
    found.length === 0 ? [] : [`${words} ${found.map(({ name }) => `\`${name}\``).join(', ')}`]
  const told = events.filter(({ kind, from }) => kind !== 'question' && isHere(from))
  const parts = [
    told.length === 0 ? 'none' : told.map(({ name }) => `\`${name}\``).join(', '),
    ...named(
      'asks',
      events.filter(({ kind, from }) => kind === 'question' && isHere(from)),
    ),
    ...named(
      'reacts to',
      events.filter(({ kind, to }) => kind !== 'question' && isHere(to)),
    ),
    ...named(
      'answers',
      events.filter(({ kind, to }) => kind === 'question' && isHere(to)),
    ),
  ]
  return `- Events that it publishes: ${parts.join('; ')}.`
}
