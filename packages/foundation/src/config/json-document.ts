import { findNodeAtLocation, parseTree, printParseErrorCode } from 'jsonc-parser'
import type { Node, ParseError } from 'jsonc-parser'
import type * as z from 'zod/v4/core'
import { safeParse } from 'zod/v4/core'
import { formatIssue } from './format-issue.ts'

/** A parsed JSON text with the line of each field. */
export interface JsonDocument<T> {
  readonly value: T
  /** The line, from 1, of the field at `path`, or null when the text does not have it. */
  lineOf(path: readonly (string | number)[]): number | null
}

export type JsonReading<T> =
  | { readonly ok: true; readonly document: JsonDocument<T> }
  | { readonly ok: false; readonly line: number; readonly reason: string }

/** The maximum number of errors that are reported for one text. */
const complaintsMax = 3

/**
 * Parses strict JSON (no comments, no trailing commas, no duplicate keys) by a schema, or returns the line and the
 * reason of the error. Pure; never throws.
 */
export function readJsonDocument<S extends z.$ZodType>(text: string, schema: S): JsonReading<z.output<S>> {
  try {
    return readShallow(text, schema)
  } catch (error) {
    // Thousands of nested brackets exhaust the stack of the recursive parser.
    if (error instanceof RangeError) return { ok: false, line: 1, reason: 'the file is nested too deeply' }
    throw error
  }
}

function readShallow<S extends z.$ZodType>(text: string, schema: S): JsonReading<z.output<S>> {
  const source = text.startsWith('\uFEFF') ? text.slice(1) : text
  const lineAt = lineFinder(source)
  const errors: ParseError[] = []
  const root = parseTree(source, errors, { disallowComments: true, allowTrailingComma: false })
  const first = errors[0]
  if (first)
    return { ok: false, line: lineAt(first.offset), reason: spelled(printParseErrorCode(first.error)) }
  if (!root) return { ok: false, line: 1, reason: 'the file is empty' }
  const twice = duplicateKey(root)
  if (twice) {
    return {
      ok: false,
      line: lineAt(twice.offset),
      reason: `the key ${JSON.stringify(twice.value)} appears twice; remove one of the two`,
    }
  }
  const parsed = safeParse(schema, JSON.parse(source))
  if (!parsed.success) {
    const issues = parsed.error.issues
    const complaints = issues
      .slice(0, complaintsMax)
      .map((issue) => `${issue.path.join('.') || 'file'}: ${formatIssue(issue)}`)
    const issue = issues[0]
    const line = issue ? lineAt(nearestNode(root, issueKeys(issue))?.offset ?? 0) : 1
    return { ok: false, line, reason: complaints.join('; ') }
  }
  return {
    ok: true,
    document: {
      value: parsed.data,
      lineOf: (path) => {
        const node = findNodeAtLocation(root, [...path])
        return node ? lineAt((node.parent?.type === 'property' ? node.parent : node).offset) : null
      },
    },
  }
}

/** Zod reports an unknown key at the object that contains it; the line of the key itself helps more. */
function issueKeys(issue: z.$ZodIssue): (string | number)[] {
  const path = issue.path.filter((key) => typeof key !== 'symbol')
  const extra = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined
  return extra === undefined ? path : [...path, extra]
}

/** Returns the deepest node that exists on the way to `path`. */
function nearestNode(root: Node, path: readonly (string | number)[]): Node | undefined {
  for (let depth = path.length; depth > 0; depth--) {
    const node = findNodeAtLocation(root, path.slice(0, depth))
    if (node) return node.parent?.type === 'property' ? node.parent : node
  }
  return root
}

function duplicateKey(node: Node): Node | null {
  const seen = new Set<unknown>()
  for (const child of node.children ?? []) {
    if (child.type === 'property') {
      const key = child.children?.[0]
      if (key && seen.has(key.value)) return key
      seen.add(key?.value)
    }
    const deeper = duplicateKey(child)
    if (deeper) return deeper
  }
  return null
}

function lineFinder(text: string): (offset: number) => number {
  return (offset) => text.slice(0, offset).split('\n').length
}

/** `ValueExpected` as `value expected`. */
function spelled(code: string): string {
  return code.replace(/(?<!^)([A-Z])/g, ' $1').toLowerCase()
}
