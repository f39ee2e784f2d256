import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { repositoryRoot, withoutComments } from './source-files.ts'
import type { SourceFile } from './source-files.ts'

/** How a message comes from one file to the next where no import leads there. */
export interface Hop {
  readonly kind: 'HTTP' | 'event' | 'port'
  /** The endpoint, the event, or the function that one calls and the other is. */
  readonly name: string
}

export interface Step {
  /** From the repository's root. */
  readonly path: string
  /** Hops that stand between it and the file above it. */
  readonly hops: readonly Hop[]
}

export interface Walk {
  readonly name: string
  readonly filesMax: number
  readonly linesMax: number
  readonly steps: readonly Step[]
}

const heading = /^#### (.+): at most ([\d,]+) files and ([\d,]+) lines$/
const fileItem = /^- `([\w./-]+\.ts)` \S/
const hopItem = /^- by (HTTP|event|port) `(\w+)`: \S/

/** The walks that a page describes. Throws for a line that is neither a step nor a hop. */
export function readWalks(page: string): readonly Walk[] {
  const start = page.indexOf('#### ')
  const section = page.slice(start, page.indexOf('\n## ', start))
  return section.split(/^(?=#### )/m).map(readWalk)
}

function readWalk(part: string): Walk {
  const [title = '', ...lines] = part.split('\n')
  const [, name = '', files = '', most = ''] = heading.exec(title) ?? []
  if (name === '') throw new Error(`a walk begins with its name and its bounds: ${title}`)
  const steps: Step[] = []
  let hops: Hop[] = []
  for (const line of lines.filter((one) => one.startsWith('- '))) {
    const path = fileItem.exec(line)?.[1]
    const [, kind, hop] = hopItem.exec(line) ?? []
    if (path !== undefined) {
      steps.push({ path: `packages/${path}`, hops })
      hops = []
    } else if ((kind === 'HTTP' || kind === 'event' || kind === 'port') && hop !== undefined) {
      hops.push({ kind, name: hop })
    } else throw new Error(`this is no step of a walk: ${line}`)
  }
  return { name, filesMax: numberOf(files), linesMax: numberOf(most), steps }
}

function numberOf(text: string): number {
  return Number(text.replaceAll(',', ''))
}

export function readPage(): string {
  return readFileSync(join(repositoryRoot, 'docs/reference/code-walks.md'), 'utf8')
}

/** How one may look through the sources for what the walks say. */
export interface Sources {
  readonly textOf: (path: string) => string
  /** Whether a file above leads to this one by an import, through an index where that passes the name on. */
  readonly isReached: (path: string, above: readonly string[]) => boolean
  /** Texts of the files of the module that a file belongs to, or of those whose names end so. */
  readonly inModuleOf: (path: string, ending?: string) => readonly string[]
}

export function indexSources(files: readonly SourceFile[]): Sources {
  const byPath = new Map(files.filter((file) => !file.isTest).map((file) => [file.path, file]))
  const textOf = (path: string): string => withoutComments(byPath.get(path)?.text ?? '')

  function leadsTo(from: string, to: string): boolean {
    return importsOf(from, textOf(from)).some(({ target, names }) => {
      if (target === to) return true
      if (posix.basename(target) !== 'index.ts') return false
      return importsOf(target, textOf(target)).some(
        (passed) =>
          passed.target === to && passed.isExport && passed.names.some((name) => names.includes(name)),
      )
    })
  }

  return {
    textOf,
    isReached: (path, above) => above.some((from) => leadsTo(from, path)),
    inModuleOf: (path, ending = '') => {
      const room = /^packages\/\w+\/src\/[\w-]+\//.exec(path)?.[0] ?? path
      return [...byPath.keys()].filter((one) => one.startsWith(room) && one.endsWith(ending)).map(textOf)
    },
  }
}

const statement = /^(import|export)\s+(?:type\s+)?(?:\{([^}]*)\}|[\w*\s,]+)\s+from\s+'([^']+)'/gm

/** What a file names of other files. */
function importsOf(path: string, text: string) {
  return [...text.matchAll(statement)].map(([, word = '', named = '', specifier = '']) => {
    const names = named.split(',').map(
      (name) =>
        name
          .trim()
          .replace(/^type /, '')
          .split(' as ')[0] ?? '',
    )
    const target = specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier
    return { target, isExport: word === 'export', names }
  })
}
