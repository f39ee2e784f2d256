import { isDeepStrictEqual } from 'node:util'
import { isMap, isScalar, isSeq, parseDocument } from 'yaml'
import type { Document, YAMLMap, YAMLSeq } from 'yaml'
import { yamlForm, yamlText } from './yaml-document.ts'

/**
 * Returns the text with one more entry at the end of the list `field`. What the owner wrote stays as it is, byte for
 * byte, except for a value without content, such as `null`, that the list replaces. The text must be valid. Pure.
 */
export function addToYamlList(text: string, field: string, entry: object): string {
  const document: Document.Parsed = parseDocument(text, yamlForm)
  const content: unknown = document.toJS() ?? {}
  const { [field]: listed, ...others } = content as Record<string, unknown>
  const expected = { ...others, [field]: [...((listed as unknown[] | null | undefined) ?? []), entry] }
  const inserted = insertEntry(text, document, { field, entry })
  if (inserted !== null && isDeepStrictEqual(valueOf(inserted), expected)) return inserted
  // A text of a rare form, such as a root in braces, is written anew; its comments stay.
  return writtenAnew(document, field, entry)
}

interface Addition {
  readonly field: string
  readonly entry: object
}

/** Returns the text with the entry in its place; null for a text of another form. */
function insertEntry(text: string, document: Document.Parsed, { field, entry }: Addition): string | null {
  const root: unknown = document.contents
  if (root === null) return appended(text, blockOf({ [field]: [entry] }, 0))
  if (isScalar(root)) return appended(cut(text, root.range), blockOf({ [field]: [entry] }, 0))
  if (!isMap(root) || root.flow === true) return null
  const list = document.get(field, true)
  if (isSeq(list)) return list.flow === true ? inFlowList(text, list, entry) : inBlockList(text, list, entry)
  const key = keyOf(root, field)
  if (key === null) return appended(text, blockOf({ [field]: [entry] }, columnOf(text, root.range?.[0] ?? 0)))
  if (!isScalar(list)) return null
  const without = cut(text, list.range)
  return insertLines(without, key.end, blockOf([entry], columnOf(text, key.begin) + 2))
}

/** Adds an entry to a list of lines with dashes, after the last one. */
function inBlockList(text: string, list: YAMLSeq, entry: object): string | null {
  const last: unknown = list.items.at(-1)
  const end = hasRange(last) ? last.range?.[1] : undefined
  const begin = list.range?.[0]
  if (end === undefined || begin === undefined) return null
  return insertLines(text, end, blockOf([entry], columnOf(text, begin)))
}

/** Adds an entry to a list in brackets. JSON is YAML. */
function inFlowList(text: string, list: YAMLSeq, entry: object): string | null {
  const last: unknown = list.items.at(-1)
  const at = last === undefined ? (list.range?.[0] ?? 0) + 1 : hasRange(last) ? last.range?.[1] : undefined
  if (at === undefined) return null
  return `${text.slice(0, at)}${last === undefined ? '' : ', '}${JSON.stringify(entry)}${text.slice(at)}`
}

function hasRange(node: unknown): node is { readonly range?: readonly [number, number, number] | null } {
  return typeof node === 'object' && node !== null && 'range' in node
}

function keyOf(root: YAMLMap, field: string): { readonly begin: number; readonly end: number } | null {
  const key = root.items.map((pair) => pair.key).find((one) => isScalar(one) && one.value === field)
  const range = hasRange(key) ? key.range : null
  return range ? { begin: range[0], end: range[1] } : null
}

/** The text without a part, such as a `null`. */
function cut(text: string, range: readonly [number, number, number] | null | undefined): string {
  return range ? text.slice(0, range[0]) + text.slice(range[1]) : text
}

/** Inserts lines after the line of a position. */
function insertLines(text: string, position: number, lines: string): string {
  const isAtBegin = position > 0 && text[position - 1] === '\n'
  const end = isAtBegin ? position : text.indexOf('\n', position) + 1
  if (end === 0) return appended(text, lines)
  return text.slice(0, end) + withLineEnds(text, lines) + text.slice(end)
}

function appended(text: string, lines: string): string {
  const isEnded = text === '' || text.endsWith('\n')
  return `${text}${isEnded ? '' : lineEndOf(text)}${withLineEnds(text, lines)}`
}

function withLineEnds(text: string, lines: string): string {
  return lines.replaceAll('\n', lineEndOf(text))
}

function lineEndOf(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n'
}

function blockOf(value: object, column: number): string {
  return yamlText(value).replaceAll(/^(?=.)/gm, ' '.repeat(column))
}

function columnOf(text: string, position: number): number {
  return position - (text.lastIndexOf('\n', position - 1) + 1)
}

function valueOf(text: string): unknown {
  const document = parseDocument(text, yamlForm)
  return document.errors.length + document.warnings.length > 0 ? null : document.toJS()
}

function writtenAnew(document: Document, field: string, entry: object): string {
  const list = isMap(document.contents) ? document.get(field, true) : undefined
  if (isSeq(list)) document.addIn([field], document.createNode(entry))
  else if (isMap(document.contents)) document.set(field, document.createNode([entry]))
  else document.contents = document.createNode({ [field]: [entry] })
  return document.toString({ lineWidth: 0 })
}
