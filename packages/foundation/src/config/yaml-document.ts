import { LineCounter, isMap, isNode, isSeq, parseDocument, stringify } from 'yaml'
import type { Document } from 'yaml'
import type * as z from 'zod/v4/core'
import { safeParse } from 'zod/v4/core'
import { formatIssue } from './format-issue.ts'

/** The maximum length of a YAML file of the owner, in characters. */
const fileMaxChars = 256 * 1024
/** The maximum number of YAML alias expansions, so that a short file cannot expand to a huge one. */
const aliasesMax = 50
/** The maximum number of errors that are reported for one text. */
const complaintsMax = 3
/** The parser options for every YAML file of the owner. */
export const yamlForm = { uniqueKeys: true, schema: 'core' } as const

/** A parsed YAML text with the line of each field. */
export interface YamlDocument<T> {
  readonly value: T
  /** The line, from 1, of the deepest part of `path` that the text has. */
  lineOf(path: readonly (string | number)[]): number
}

export type YamlReading<T> =
  | { readonly ok: true; readonly document: YamlDocument<T> }
  | { readonly ok: false; readonly line: number; readonly reason: string }

/** Parses YAML by a schema, or returns the line and the reason of the error. A text without content is read as `empty`. Pure. */
export function readYamlDocument<S extends z.$ZodType>(
  text: string,
  schema: S,
  empty: object = {},
): YamlReading<z.output<S>> {
  if (text.length > fileMaxChars)
    return { ok: false, line: 1, reason: `the file is longer than ${fileMaxChars} characters` }
  const lines = new LineCounter()
  let document: Document.Parsed
  let content: unknown
  try {
    document = parseDocument(text, { ...yamlForm, lineCounter: lines })
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
    content = document.contents === null ? empty : (document.toJS({ maxAliasCount: aliasesMax }) ?? empty)
  } catch (error) {
    // Deep nesting exhausts the stack of the recursive parser, and too many aliases are refused.
    const reason =
      error instanceof RangeError
        ? 'the file is nested too deeply'
        : error instanceof Error
          ? error.message
          : String(error)
    return { ok: false, line: 1, reason }
  }
  const lineAt = (path: readonly (string | number)[]) => lineOf(document, lines, path)
  const parsed = safeParse(schema, content)
  if (parsed.success) return { ok: true, document: { value: parsed.data, lineOf: lineAt } }
  const issues = parsed.error.issues
  const issue = issues[0]
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : []
  return {
    ok: false,
    line: lineAt([...keysOf(issue), ...unknown]),
    reason: issues
      .slice(0, complaintsMax)
      .map((one) => `${one.path.join('.') || 'file'}: ${formatIssue(one)}`)
      .join('; '),
  }
}

/** Returns a value as YAML, without breaking long lines. Pure. */
export function yamlText(value: object): string {
  return stringify(value, { ...yamlForm, lineWidth: 0 })
}

function keysOf(issue: z.$ZodIssue | undefined): readonly (string | number)[] {
  return (issue?.path ?? []).filter((key) => typeof key !== 'symbol')
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
