import type { Citation } from './coverage-report.ts'
import { lessonId } from './requirements/lessons.ts'

export interface SourceCitations {
  /** Citations of clauses, by `verifies`. */
  readonly citations: readonly Citation[]
  /** Citations of lessons, by `heedsLesson`; each id is that of `lessonId`. */
  readonly heeded: readonly Citation[]
  /** `file:line` of calls whose arguments are not plain literals. */
  readonly unreadable: readonly string[]
}

/**
 * Matches comments, templates, strings and regular expressions only to skip them, so that a call that is written
 * inside one does not count as a call. The last part matches the call itself, up to its first `)`.
 */
const token = new RegExp(
  [
    String.raw`\/\/[^\n]*`,
    String.raw`\/\*[\s\S]*?\*\/`,
    String.raw`\x60(?:\\[\s\S]|[^\x60\\])*\x60`,
    String.raw`'(?:\\.|[^'\\\n])*'`,
    String.raw`"(?:\\.|[^"\\\n])*"`,
    String.raw`(?<=[(,=:[!&|?{};]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*`,
    String.raw`(?<![\w$.])(?<!function\s+)(?<name>verifies|heedsLesson)\s*\((?<args>[^)]*)\)`,
  ].join('|'),
  'g',
)
const idList = /^\s*(?:(?:'[^'\\\n]*'|"[^"\\\n]*")\s*,?\s*)+$/
const numberList = /^\s*\d+(?:\s*,\s*\d+)*\s*,?\s*$/
const idLiteral = /['"](?<id>[^'"]*)['"]/g

/** Finds what a test's source says it proves, without running it. */
export function citationsIn(source: string, file: string): SourceCitations {
  const citations: Citation[] = []
  const heeded: Citation[] = []
  const unreadable: string[] = []
  for (const match of source.matchAll(token)) {
    const list = match.groups?.['args']
    if (list === undefined) continue
    const at = `${file}:${source.slice(0, match.index).split('\n').length}`
    if (match.groups?.['name'] === 'verifies' && idList.test(list)) {
      for (const found of list.matchAll(idLiteral)) citations.push({ id: found.groups?.['id'] ?? '', at })
    } else if (match.groups?.['name'] === 'heedsLesson' && numberList.test(list)) {
      for (const [number] of list.matchAll(/\d+/g)) heeded.push({ id: lessonId(Number(number)), at })
    } else unreadable.push(at)
  }
  return { citations, heeded, unreadable }
}
