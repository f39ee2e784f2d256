import { Problem } from '@flotilla/protocol/problem'
import { isMap, isScalar, isSeq, parseDocument } from 'yaml'
import type { Document, YAMLSeq } from 'yaml'
import * as z from 'zod'
import { yamlForm } from '@flotilla/foundation/config'
import { readWatchers } from './read-watchers.ts'
import { entryOf, watcherEntrySchema } from './watch-rule.ts'
import type { WatcherEntry } from './watch-rule.ts'
import { brokenWords } from './watchers-file.ts'

/** A change of one entry; `before` is null for a new entry, `after` is null for a removed entry. */
export const watcherChangeSchema = z.strictObject({
  before: z.nullable(watcherEntrySchema),
  after: z.nullable(watcherEntrySchema),
})
export type WatcherChange = z.output<typeof watcherChangeSchema>

const handRepair = 'Change config/watchers.yaml by hand, then check the file with flotilla watchers check'

/**
 * Applies changes to the text of `config/watchers.yaml` and returns the new text; null if nothing changes.
 * The owner's wording, order and comments are kept; whitespace may be normalized. A changed entry keeps
 * folder, pattern and agent. An entry that differs from `before` is a Problem `conflict`, or is ignored with
 * `skipMissing`. Throws Problem `unprocessable` if the file is broken or cannot express the result. Pure.
 */
export function editWatchers(
  text: string | null,
  changes: readonly WatcherChange[],
  { skipMissing }: { readonly skipMissing: boolean },
): string | null {
  const reading = readWatchers(text ?? '')
  if (!reading.ok) throw new Problem('unprocessable', { detail: brokenWords(reading), repair: handRepair })
  const expected: (WatcherEntry | null)[] = reading.rules.map((rule) => entryOf(rule))
  const document = parseDocument(text ?? '', yamlForm)
  const entries = entriesOf(document)
  let isOther = false
  for (const { before, after } of changes) {
    // Of several equal entries the last one is taken, because it was added last.
    const at =
      before === null ? expected.length : expected.findLastIndex((one) => one !== null && isSame(one, before))
    if (at === -1) {
      if (skipMissing) continue
      throw changedMeanwhile()
    }
    isOther = true
    expected[at] = after
    if (after === null) continue
    if (before === null) entries.add(document.createNode(after))
    else rewrite(entries.items[at], before, after)
  }
  if (!isOther) return null
  for (const [at, entry] of [...expected.entries()].toReversed()) if (entry === null) entries.delete(at)
  return written(
    document,
    expected.filter((entry) => entry !== null),
    dashColumn(text ?? ''),
  )
}

export function changedMeanwhile(): Problem {
  return new Problem('conflict', {
    detail: 'config/watchers.yaml was changed by hand since the plan was made; read the new plan',
  })
}

/** Returns the list of entries in the file, or adds a list. Keeps comments at the place of the list. */
function entriesOf(document: Document.Parsed): YAMLSeq {
  const made = document.createNode([]) as YAMLSeq // Creating a node from a list gives a sequence.
  if (!isMap(document.contents)) {
    ;(document as Document).contents = document.createNode({ watchers: made })
    return made
  }
  const found = document.contents.get('watchers', true)
  if (isSeq(found)) {
    // An empty list in the file has flow style (`[]`), which is unreadable for long entries, so it gets block style.
    if (found.items.length === 0) found.flow = false
    return found
  }
  if (isScalar(found)) {
    made.commentBefore = found.commentBefore ?? null
    made.comment = found.comment ?? null
  }
  document.set('watchers', made)
  return made
}

function rewrite(node: unknown, before: WatcherEntry, after: WatcherEntry): void {
  if (!isMap(node)) throw notSo('one entry of the list is an alias')
  if (before.message !== after.message) node.set('message', after.message)
  if (before.when === after.when) return
  if (after.when === undefined) node.delete('when')
  else node.set('when', after.when)
}

/** Returns the document's text. Throws if the text does not have the expected entries, as a YAML alias can cause. */
function written(document: Document, expected: readonly WatcherEntry[], dashes: number): string {
  let text: string
  try {
    text = document.toString({ lineWidth: 0, indent: dashes > 0 ? dashes : 2, indentSeq: dashes !== 0 })
  } catch (error) {
    throw notSo(error instanceof Error ? error.message : String(error))
  }
  const reading = readWatchers(text)
  if (!reading.ok) throw notSo(reading.reason)
  const meant = reading.rules.map((rule) => entryOf(rule))
  const isMeant =
    meant.length === expected.length && meant.every((one, at) => isSame(one, expected[at] ?? null))
  if (!isMeant) throw notSo('parts of it are aliases')
  return text
}

function isSame(left: WatcherEntry, right: WatcherEntry | null): boolean {
  const fields = ['path', 'pattern', 'agent', 'message', 'when'] as const
  return fields.every((field) => left[field] === right?.[field])
}

function notSo(reason: string): Problem {
  return new Problem('unprocessable', {
    detail: `config/watchers.yaml cannot be edited in its current form: ${reason}`,
    repair: handRepair,
  })
}

/** Returns the indentation of the entries, at most 8; -1 if the file has no entry. Pure. */
function dashColumn(text: string): number {
  const dash = /^( {0,8})- /m.exec(text)
  return dash ? (dash[1] ?? '').length : -1
}
