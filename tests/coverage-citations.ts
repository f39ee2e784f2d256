import type { Citation } from './coverage-report.ts'

export interface SourceCitations {
  readonly citations: readonly Citation[]
  /** `file:line` of calls whose arguments are not plain string literals. */
  readonly unreadable: readonly string[]
}

/**
 * Comments, templates, strings and regular expressions are matched only to be stepped over, so that a call
 * written inside one is not taken for a call. The last part is the call itself, up to its first `)`.
 */
const token = new RegExp(
  [
    String.raw`\/\/[^\n]*`,
    String.raw`\/\*[\s\S]*?\*\/`,
    String.raw`\x60(?:\\[\s\S]|[^\x60\\])*\x60`,
    String.raw`'(?:\\.|[^'\\\n])*'`,
    String.raw`"(?:\\.|[^"\\\n])*"`,
    String.raw`(?<=[(,=:[!&|?{};]\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*`,
    String.raw`(?<![\w$.])(?<!function\s+)verifies\s*\((?<args>[^)]*)\)`,
  ].join('|'),
  'g',
)
const argumentList = /^\s*(?:(?:'[^'\\\n]*'|"[^"\\\n]*")\s*,?\s*)+$/
const literal = /['"](?<id>[^'"]*)['"]/g

/** Finds what a test's source says it verifies, without running it. */
export function citationsIn(source: string, file: string): SourceCitations {
  const citations: Citation[] = []
  const unreadable: string[] = []
  for (const match of source.matchAll(token)) {
    const list = match.groups?.['args']
    if (list === undefined) continue
    const at = `${file}:${source.slice(0, match.index).split('\n').length}`
    if (!argumentList.test(list)) unreadable.push(at)
    else for (const found of list.matchAll(literal)) citations.push({ id: found.groups?.['id'] ?? '', at })
  }
  return { citations, unreadable }
}
