import { callIn } from '../answer/call-pieces.ts'
import { membersOf } from '../claude/claude-message.ts'
import type { Members } from '../claude/claude-message.ts'
import { argumentsIn, kindOf, partsIn, printedItem } from './answer-item.ts'
import type { AnswerItem, ItemKind } from './answer-item.ts'

/** A piece of an item, or, behind the pieces, its whole text. */
export interface ItemPiece {
  readonly kind: ItemKind
  readonly isWhole: boolean
  readonly text: string
  /** The number of the part of a message or of a summary. */
  readonly part: unknown
  readonly value: Members
}

/**
 * Keeps the items of one answer, and writes each change of them as events that OpenAI documents. Items are found by
 * their id, else by their position: proxies change the one or the other.
 */
export function createOpenItems() {
  const items: AnswerItem[] = []
  const byId = new Map<unknown, AnswerItem>()
  const byPlace = new Map<unknown, AnswerItem>()
  const callIds = new Set<string>()
  let count = 0
  let isRefused = false

  function found(kind: ItemKind, { id, place }: { id: unknown; place: unknown }): AnswerItem {
    const known = [byId.get(id), byPlace.get(place)].find((one) => one?.kind === kind && !one.isDone)
    if (known !== undefined) return known
    const hasId = typeof id === 'string' && id !== '' && !byId.has(id)
    const own = hasId ? id : `item_${items.length}`
    const empty = { index: null, callId: '', name: '', text: '', encrypted: '', isDone: false }
    const item: AnswerItem = { kind, id: own, parts: new Map(), ...empty }
    items.push(item)
    byId.set(own, item)
    if (place !== undefined) byPlace.set(place, item)
    return item
  }

  /** The item of a piece that names none; undefined if several are open, because it may be of any of them. */
  function onlyOpen(kind: ItemKind, { id, place }: { id: unknown; place: unknown }): AnswerItem | undefined {
    if ((id ?? place ?? null) !== null) return undefined
    const open = items.filter((one) => one.kind === kind && !one.isDone)
    return open.length === 1 ? open[0] : undefined
  }

  /** Writes the begin of an item; a call without its name waits for more. */
  function opened(item: AnswerItem): Members[] {
    if (item.index !== null || (item.kind === 'call' && item.name === '')) return []
    item.index = count++
    if (item.callId === '' || callIds.has(item.callId)) item.callId = item.id
    callIds.add(item.callId)
    const printed = printedItem(item, true)
    const started = { type: 'response.output_item.added', output_index: item.index, item: printed }
    return item.text === '' ? [started] : [started, deltaOf(item, item.text)]
  }

  /** Adds a piece of one part; parts of thinking are paragraphs. */
  function said(item: AnswerItem, at: unknown, text: string): Members[] {
    if (text === '') return item.kind === 'search' ? [] : opened(item)
    const isNext = item.kind === 'thinking' && !item.parts.has(at) && item.text !== ''
    const piece = (isNext ? '\n\n' : '') + text
    item.parts.set(at, `${item.parts.get(at) ?? ''}${text}`)
    item.text += piece
    return item.index === null ? opened(item) : [deltaOf(item, piece)]
  }

  /** Adds what the whole text has more than its pieces; a different text cannot revoke them. */
  function rest(item: AnswerItem, at: unknown, whole: string): Members[] {
    const before = item.parts.get(at) ?? ''
    return whole.startsWith(before) ? said(item, at, whole.slice(before.length)) : []
  }

  function closed(item: AnswerItem): Members[] {
    if (item.isDone) return []
    item.isDone = true
    const events = opened(item)
    if (item.index === null) return events
    const printed = printedItem(item, false)
    return [...events, { type: 'response.output_item.done', output_index: item.index, item: printed }]
  }

  /** Whether a whole call that has the id of another call is one more, and not the same one again. */
  function isOther(known: AnswerItem, given: Members, place: unknown): boolean {
    if (known.kind !== 'call' || byPlace.get(place) === known) return false
    return typeof given['arguments'] === 'string' && given['arguments'] !== known.text
  }

  function done(given: Members, written: Members, place: unknown): Members[] {
    const kind = kindOf(given)
    const known = byId.get(given['id'])
    if (kind === null || (known?.isDone === true && known.kind === kind && !isOther(known, given, place)))
      return []
    const item = found(kind, { id: given['id'], place })
    name(item, given)
    const events: Members[] = []
    if (kind === 'message' || kind === 'thinking') {
      for (const { at, text, isRefusal } of partsIn(given)) {
        isRefused ||= isRefusal
        events.push(...rest(item, at, text))
      }
    } else events.push(...rest(item, 0, argumentsIn(given, written) ?? ''))
    if (typeof given['encrypted_content'] === 'string') item.encrypted = given['encrypted_content']
    return [...events, ...closed(item)]
  }

  return {
    added(given: Members, place: unknown): Members[] {
      const kind = kindOf(given)
      if (kind === null) return []
      const item = found(kind, { id: given['id'], place })
      name(item, given)
      // A search begins with another call id than it ends with.
      return kind === 'search' ? [] : opened(item)
    },
    done,
    piece({ kind, isWhole, text, part, value }: ItemPiece): Members[] {
      const at = { id: value['item_id'], place: value['output_index'] }
      const before = byId.get(at.id) ?? (isWhole ? byPlace.get(at.place) : undefined)
      if (before?.isDone === true && before.kind === kind) return []
      const item = onlyOpen(kind, at) ?? found(kind, at)
      if (kind === 'call') name(item, value)
      return isWhole ? rest(item, part, text) : said(item, part, text)
    },
    /** Completes the items of the response at the end: each is one that was streamed, by its id or by its turn. */
    completed(output: readonly unknown[], written: readonly unknown[]): Members[] {
      const streamed = Map.groupBy([...items], ({ kind }) => kind)
      const seen = new Set<unknown>()
      return output.flatMap((value, at) => {
        const item = membersOf(value)
        const kind = kindOf(item)
        if (kind === null) return []
        const inTurn = streamed.get(kind)?.shift()
        const isAgain = item['id'] !== undefined && seen.has(item['id'])
        seen.add(item['id'])
        const known = isAgain ? inTurn : (byId.get(item['id']) ?? inTurn)
        if (known?.isDone === true) return []
        const id = known?.id ?? (isAgain ? undefined : item['id'])
        return done({ ...item, id }, membersOf(written[at]), undefined)
      })
    },
    closeAll: (): Members[] => items.flatMap(closed),
    refuse: () => void (isRefused = true),
    isRefused: () => isRefused,
    isEmpty: () => items.length === 0,
    isWhole: () => items.length > 0 && items.every(({ isDone }) => isDone),
    printed: () => items.filter(({ index }) => index !== null).map((item) => printedItem(item, false)),
  }
}

function name(item: AnswerItem, given: Members): void {
  if (item.index !== null) return
  const call = item.kind === 'call' && given['name'] === undefined ? callIn(given) : null
  if (call !== null) {
    item.name = call.name || item.name
    item.callId = call.id || item.callId
  }
  if (typeof given['name'] === 'string' && given['name'] !== '') item.name = given['name']
  if (typeof given['call_id'] === 'string' && given['call_id'] !== '') item.callId = given['call_id']
}

function deltaOf(item: AnswerItem, delta: string): Members {
  const at = { item_id: item.id, output_index: item.index, delta }
  if (item.kind === 'message') return { type: 'response.output_text.delta', content_index: 0, ...at }
  if (item.kind === 'thinking')
    return { type: 'response.reasoning_summary_text.delta', summary_index: 0, ...at }
  return { type: 'response.function_call_arguments.delta', ...at }
}
