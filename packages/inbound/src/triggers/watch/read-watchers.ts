import { LineCounter, isMap, isNode, isSeq, parseDocument } from 'yaml'
import type { Document } from 'yaml'
import { rulesOf, watchersFileSchema } from './watch-rule.ts'
import type { WatchRule } from './watch-rule.ts'

/** The maximum length of config/watchers.yaml, in characters. */
const fileMaxChars = 256 * 1024
/** The maximum number of YAML alias expansions, so that a short file cannot expand to a huge one. */
const aliasesMax = 50
/** The maximum number of errors of config/watchers.yaml that are reported at once. */
const complaintsMax = 3
/** The parser options for the file. */
export const watchersForm = { uniqueKeys: true, schema: 'core' } as const

export type WatchersReading =
  | { readonly ok: true; readonly rules: readonly WatchRule[] }
  | { readonly ok: false; readonly line: number; readonly reason: string }

/** Returns the rules of `config/watchers.yaml`, or an error's line and reason. An empty text has no rules. Pure. */
export function readWatchers(text: string): WatchersReading {
  if (text.length > fileMaxChars) {
    return { ok: false, line: 1, reason: `the file is longer than ${fileMaxChars} characters` }
  }
  const lines = new LineCounter()
  const document = parseDocument(text, { ...watchersForm, lineCounter: lines })
  // A warning counts as an error, because the parser ignored something, for example a tag.
  const complaint = [...document.errors, ...document.warnings][0]
  if (complaint) {
    const reason = complaint.message.split('\n')[0] ?? 'not YAML'
    return {
      ok: false,
      line: lines.linePos(complaint.pos[0]).line,
      reason: reason.replace(/ at line .*$/, ''),
    }
  }
  if (document.contents === null) return { ok: true, rules: [] }
  const lineAt = (path: readonly (string | number)[]) => lineOf(document, lines, path)
  let content: unknown
  try {
    content = document.toJS({ maxAliasCount: aliasesMax })
  } catch (error) {
    return { ok: false, line: 1, reason: error instanceof Error ? error.message : String(error) }
  }
  const parsed = watchersFileSchema.safeParse(content)
  if (parsed.success) {
    return { ok: true, rules: rulesOf(parsed.data.watchers, (index) => lineAt(['watchers', index])) }
  }
  const { issues } = parsed.error
  const issue = issues[0]
  const keys = (issue?.path ?? []).filter((key) => typeof key !== 'symbol')
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  return {
    ok: false,
    line: lineAt([...keys, ...unknown]),
    reason: issues
      .slice(0, complaintsMax)
      .map(({ path, message }) => `${path.join('.') || 'file'}: ${message}`)
      .join('; '),
  }
}

/** Returns the line of the deepest existing node on `path`, or of its key. Pure. */
function lineOf(document: Document.Parsed, lines: LineCounter, path: readonly (string | number)[]): number {
  let node: unknown = document.contents
  let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isNode(key) && 'value' in key && key.value === step)
      if (!pair || !isNode(pair.key)) break
      offset = pair.key.range?.[0] ?? offset
      node = pair.value
    } else if (isSeq(node) && typeof step === 'number') {
      node = node.items[step]
      if (!isNode(node)) break
      offset = node.range?.[0] ?? offset
    } else break
  }
  return lines.linePos(offset).line
}
