import { Problem } from '@flotilla/protocol/problem'
import { isMap, isScalar, isSeq, parseDocument } from 'yaml'
import type { Document, YAMLSeq } from 'yaml'
import * as z from 'zod'
import { readWatchers, watchersForm } from './read-watchers.ts'
import { entryOf, watcherEntrySchema } from './watch-rule.ts'
import type { WatcherEntry } from './watch-rule.ts'
import { brokenWords } from './watchers-file.ts'

/** One entry that becomes another; null before for one that is added, null after for one that goes. */
export const watcherChangeSchema = z.strictObject({
  before: z.nullable(watcherEntrySchema),
  after: z.nullable(watcherEntrySchema),
})
export type WatcherChange = z.output<typeof watcherChangeSchema>

const handRepair = 'Change config/watchers.yaml by hand; flotilla watchers check says whether it is whole.'

/**
 * The text of `config/watchers.yaml` with these changes, null where there is nothing to change. What the owner wrote keeps
 * its words, its order and its comments; white space may become even. An entry that changes keeps folder, pattern
 * and agent. Entries that are not there any more as `before` has them are a Problem `conflict`, or left alone with
 * `skipMissing`. Problem `unprocessable` where the file is broken, or cannot be written so that it means just that. Pure.
 */
export function editWatchers(
  text: string | null,
  changes: readonly WatcherChange[],
  { skipMissing }: { readonly skipMissing: boolean },
): string | null {
  const reading = readWatchers(text ?? '')
  if (!reading.ok) throw new Problem('unprocessable', { detail: brokenWords(reading), repair: handRepair })
  const wanted: (WatcherEntry | null)[] = reading.rules.map((rule) => entryOf(rule))
  const document = parseDocument(text ?? '', watchersForm)
  const entries = entriesOf(document)
  let isOther = false
  for (const { before, after } of changes) {
    // The last of equal ones is the one that was added last.
    const at =
      before === null ? wanted.length : wanted.findLastIndex((one) => one !== null && isSame(one, before))
    if (at === -1) {
      if (skipMissing) continue
      throw changedMeanwhile()
    }
    isOther = true
    wanted[at] = after
    if (after === null) continue
    if (before === null) entries.add(document.createNode(after))
    else rewrite(entries.items[at], before, after)
  }
  if (!isOther) return null
  for (const [at, entry] of [...wanted.entries()].toReversed()) if (entry === null) entries.delete(at)
  return written(
    document,
    wanted.filter((entry) => entry !== null),
    dashColumn(text ?? ''),
  )
}

export function changedMeanwhile(): Problem {
  return new Problem('conflict', {
    detail: 'config/watchers.yaml was changed by hand meanwhile; look at the new plan',
  })
}

/** The list that the file has, or one that it is given; comments that stood in its place stay. */
function entriesOf(document: Document.Parsed): YAMLSeq {
  const made = document.createNode([]) as YAMLSeq // of a list it makes a list
  if (!isMap(document.contents)) {
    ;(document as Document).contents = document.createNode({ watchers: made })
    return made
  }
  const found = document.contents.get('watchers', true)
  if (isSeq(found)) {
    // An empty list is written in brackets, where nothing long has room.
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
  if (!isMap(node)) throw notSo('an entry of it stands for another')
  if (before.message !== after.message) node.set('message', after.message)
  if (before.when === after.when) return
  if (after.when === undefined) node.delete('when')
  else node.set('when', after.when)
}

/** The text, held to mean what was wanted: anchors may make one place stand for two. */
function written(document: Document, wanted: readonly WatcherEntry[], dashes: number): string {
  let text: string
  try {
    text = document.toString({ lineWidth: 0, indent: dashes > 0 ? dashes : 2, indentSeq: dashes !== 0 })
  } catch (error) {
    throw notSo(error instanceof Error ? error.message : String(error))
  }
  const reading = readWatchers(text)
  if (!reading.ok) throw notSo(reading.reason)
  const meant = reading.rules.map((rule) => entryOf(rule))
  const isMeant = meant.length === wanted.length && meant.every((one, at) => isSame(one, wanted[at] ?? null))
  if (!isMeant) throw notSo('parts of it stand for others')
  return text
}

function isSame(left: WatcherEntry, right: WatcherEntry | null): boolean {
  const fields = ['path', 'pattern', 'agent', 'message', 'when'] as const
  return fields.every((field) => left[field] === right?.[field])
}

function notSo(reason: string): Problem {
  return new Problem('unprocessable', {
    detail: `config/watchers.yaml cannot be changed as it is written: ${reason}`,
    repair: handRepair,
  })
}

/** How far the entries are set in, at most 8; -1 where there are none yet. Pure. */
function dashColumn(text: string): number {
  const dash = /^( {0,8})- /m.exec(text)
  return dash ? (dash[1] ?? '').length : -1
}
