import type { Secret } from '@flotilla/egress/credentials'
import { endOf } from '../answer/end-reasons.ts'
import { errorInAnswer } from '../answer/error-in-answer.ts'
import { membersOf } from '../claude/claude-message.ts'
import type { Members } from '../claude/claude-message.ts'
import { isRecord } from '../empty-answer.ts'
import { argumentsIn, kindOf, partsIn, printedItem, usageIn } from './answer-item.ts'
import type { AnswerItem, ItemKind } from './answer-item.ts'

interface Told {
  /** The value with the digits of its numbers. */
  readonly written: Members
  /** The name of the event, for servers that leave out its type. */
  readonly event: string
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/**
 * Reads the events of a response in any order and form, and returns them as OpenAI documents them. What an item lacks of
 * its pieces is taken from its end, or from the response at the end. One per answer.
 *
 * - A delta may come before its item, and an item without deltas.
 * - Items are found by their id, else by their position: proxies change the one or the other.
 * - The call id of a tool search is that of the end: OpenAI begins the item with another id.
 * - A refusal is words, and a reason for the end.
 * - Behind the end nothing counts, so that no failure revokes an answer that is paid for.
 */
export function createItemsMender({ secrets }: { readonly secrets: readonly Secret[] }) {
  const items: AnswerItem[] = []
  const byId = new Map<unknown, AnswerItem>()
  const byPlace = new Map<unknown, AnswerItem>()
  let head: Members | null = null
  let count = 0
  let hasAny = false
  let strange = ''
  let isRefused = false
  let isMarkedDone = false
  let ended: Members | null = null
  let failed: Members | null = null

  function begin(response: Members): Members[] {
    if (head !== null) return []
    const { id, created_at: created, model } = response
    head = {
      id: typeof id === 'string' ? id : 'resp_0',
      created_at: typeof created === 'number' ? created : 0,
      model: typeof model === 'string' ? model : '',
    }
    return [
      { type: 'response.created', response: head },
      { type: 'response.in_progress', response: head },
    ]
  }

  function found(kind: ItemKind, { id, place }: { id: unknown; place: unknown }): AnswerItem {
    const known = [byId.get(id), byPlace.get(place)].find((one) => one?.kind === kind && !one.isDone)
    if (known !== undefined) return known
    const hasId = typeof id === 'string' && id !== '' && !byId.has(id)
    const item: AnswerItem = {
      kind,
      index: null,
      id: hasId ? id : `item_${items.length}`,
      callId: '',
      name: '',
      text: '',
      parts: new Map(),
      encrypted: '',
      isDone: false,
    }
    items.push(item)
    byId.set(hasId ? id : item.id, item)
    if (place !== undefined) byPlace.set(place, item)
    return item
  }

  /** Writes the begin of an item; a call without its name and a search wait for more. */
  function opened(item: AnswerItem): Members[] {
    if (item.index !== null || (item.kind === 'call' && item.name === '')) return []
    item.index = count++
    if (item.callId === '') item.callId = item.id
    const started = {
      type: 'response.output_item.added',
      output_index: item.index,
      item: printedItem(item, true),
    }
    return item.text === '' ? [started] : [started, delta(item, item.text)]
  }

  function delta(item: AnswerItem, text: string): Members {
    const at = { item_id: item.id, output_index: item.index, delta: text }
    if (item.kind === 'message') return { type: 'response.output_text.delta', content_index: 0, ...at }
    if (item.kind === 'thinking')
      return { type: 'response.reasoning_summary_text.delta', summary_index: 0, ...at }
    return { type: 'response.function_call_arguments.delta', ...at }
  }

  function said(item: AnswerItem, text: string): Members[] {
    if (text === '') return opened(item)
    const isOpen = item.index !== null
    item.text += text
    return isOpen ? [delta(item, text)] : opened(item)
  }

  /** Adds a piece of one part; parts of thinking are paragraphs. */
  function saidIn(item: AnswerItem, at: unknown, text: string): Members[] {
    if (text === '') return opened(item)
    const isNext = item.kind === 'thinking' && !item.parts.has(at) && item.text !== ''
    item.parts.set(at, `${item.parts.get(at) ?? ''}${text}`)
    return said(item, (isNext ? '\n\n' : '') + text)
  }

  /** Adds what the whole text has more than its pieces; a different text cannot revoke them. */
  function rest(item: AnswerItem, at: unknown, whole: string): Members[] {
    const before = item.parts.get(at) ?? ''
    return whole.startsWith(before) ? saidIn(item, at, whole.slice(before.length)) : []
  }

  function named(item: AnswerItem, given: Members): void {
    if (item.index !== null) return
    if (typeof given['name'] === 'string' && given['name'] !== '') item.name = given['name']
    if (typeof given['call_id'] === 'string' && given['call_id'] !== '') item.callId = given['call_id']
  }

  function added(given: Members, place: unknown): Members[] {
    const kind = kindOf(given)
    if (kind === null) return []
    const item = found(kind, { id: given['id'], place })
    named(item, given)
    return kind === 'search' ? [] : opened(item)
  }

  function done(given: Members, written: Members, place: unknown): Members[] {
    const kind = kindOf(given)
    const known = byId.get(given['id'])
    if (kind === null || (known?.isDone === true && known.kind === kind)) return []
    const item = found(kind, { id: given['id'], place })
    named(item, given)
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

  function closed(item: AnswerItem): Members[] {
    if (item.isDone) return []
    item.isDone = true
    const events = opened(item)
    if (item.index === null) return events
    return [
      ...events,
      { type: 'response.output_item.done', output_index: item.index, item: printedItem(item, false) },
    ]
  }

  /** Completes the items of the response at the end: each is one that was streamed, by its id or by its turn. */
  function completed(response: Members, written: Members): Members[] {
    const streamed = Map.groupBy([...items], ({ kind }) => kind)
    const asWritten = listOf(written['output'])
    return listOf(response['output']).flatMap((value, at) => {
      const item = membersOf(value)
      const kind = kindOf(item)
      if (kind === null) return []
      const inTurn = streamed.get(kind)?.shift()
      const known = byId.get(item['id']) ?? inTurn
      if (known?.isDone === true) return []
      return done({ ...item, id: known?.id ?? item['id'] }, membersOf(asWritten[at]), undefined)
    })
  }

  function finished(type: string, response: Members, written: Members): Members[] {
    const output = listOf(response['output'])
    const alone = response['output_text']
    const events = [
      ...begin(response),
      ...completed(response, written),
      ...(output.length === 0 && items.length === 0 && typeof alone === 'string' && alone !== ''
        ? said(found('message', { id: undefined, place: 0 }), alone)
        : []),
      ...items.flatMap(closed),
    ]
    const reason = reasonOf(type, response)
    if (reason instanceof Error) return [...events, ...failure({ message: reason.message })]
    const isCut = reason !== null
    const usage = usageIn(response)
    ended = { incomplete_details: isCut ? { reason } : null, usage }
    const name = isCut ? 'response.incomplete' : 'response.completed'
    return [...events, { type: name, response: { ...head, ...ended } }]
  }

  function reasonOf(type: string, response: Members): string | null | Error {
    const { reason } = membersOf(response['incomplete_details'])
    const isCut =
      type === 'response.incomplete' || response['status'] === 'incomplete' || typeof reason === 'string'
    if (!isCut) return isRefused ? 'content_filter' : null
    try {
      const end = endOf(typeof reason === 'string' ? reason : 'incomplete')
      return end === 'content_filter' || isRefused ? 'content_filter' : 'max_output_tokens'
    } catch (error) {
      return error instanceof Error ? error : new Error('the response failed')
    }
  }

  function failure(error: Members): Members[] {
    if (ended !== null || failed !== null) return []
    const { type, code, message, param } = error
    failed = {
      type: typeof type === 'string' && type !== 'error' ? type : 'server_error',
      code: typeof code === 'string' ? code : typeof code === 'number' ? String(code) : null,
      message: typeof message === 'string' && message !== '' ? message : 'the response failed',
      param: typeof param === 'string' ? param : null,
    }
    return [{ type: 'error', error: failed }]
  }

  function pieceOf(type: string, value: Members): Members[] | null {
    const at = { id: value['item_id'], place: value['output_index'] }
    const part = value['content_index'] ?? value['summary_index'] ?? 0
    const text = [value['delta'], value['text'], value['refusal'], value['arguments']].find(
      (one) => typeof one === 'string',
    ) as string | undefined
    const [, what, phase] =
      /^response\.(output_text|refusal|reasoning_summary_text|reasoning_text|function_call_arguments)\.(delta|done)$/.exec(
        type,
      ) ?? []
    if (what === undefined) return null
    isRefused ||= what === 'refusal'
    const kind = what.startsWith('reasoning') ? 'thinking' : what.startsWith('function') ? 'call' : 'message'
    const closedOne = byId.get(at.id) ?? (phase === 'done' ? byPlace.get(at.place) : undefined)
    if (closedOne?.isDone === true && closedOne.kind === kind) return []
    const item = found(kind, at)
    if (kind === 'call') named(item, value)
    return phase === 'delta' ? saidIn(item, part, text ?? '') : rest(item, part, text ?? '')
  }

  function takeKnown(type: string, value: Members, written: Members): Members[] | null {
    const response = membersOf(value['response'])
    switch (type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        return begin(response)
      case 'response.output_item.added':
        return added(membersOf(value['item']), value['output_index'])
      case 'response.output_item.done':
        return done(membersOf(value['item']), membersOf(written['item']), value['output_index'])
      case 'response.completed':
      case 'response.done':
      case 'response.incomplete':
        return isRecord(response['error'])
          ? failure(response['error'])
          : finished(type, response, membersOf(written['response']))
      case 'response.failed':
      case 'response.cancelled':
        return failure(membersOf(response['error']))
      case 'error':
        return failure(isRecord(value['error']) ? value['error'] : value)
      default:
        return pieceOf(type, value)
    }
  }

  /** Takes a response that comes as one object, or an error in its place. */
  function takeWhole(value: Members, written: Members): Members[] {
    const { status, output, error } = value
    if (isRecord(error) || status === 'failed') return failure(membersOf(error))
    if (Array.isArray(output) || value['object'] === 'response')
      return status === 'in_progress' || status === 'queued'
        ? begin(value)
        : finished('whole', value, written)
    const problem = errorInAnswer(value, { secrets })
    if (problem !== null) return failure({ message: problem.detail })
    strange ||= Object.keys(value).slice(0, 8).join(', ').slice(0, 100)
    return []
  }

  return {
    take(value: Members, { written, event }: Told): readonly Members[] {
      if (ended !== null || failed !== null) return []
      const given = value['type']
      const type = typeof given === 'string' ? given : event
      const isEvent = type === 'error' || type.startsWith('response.')
      const events = isEvent ? (takeKnown(type, value, written) ?? []) : takeWhole(value, written)
      hasAny ||= isEvent || events.length > 0
      return events
    },
    sawDone: () => void (isMarkedDone = true),
    hasAny: () => hasAny,
    strange: () => strange,
    /** Returns the end that a proxy has left out before its own mark, if all items are complete. */
    end(): readonly Members[] {
      const isWhole = isMarkedDone && items.length > 0 && items.every(({ isDone }) => isDone)
      return ended === null && failed === null && isWhole ? finished('response.completed', {}, {}) : []
    },
    /** Returns the whole answer, or the error in its place; null if the answer has not ended. */
    whole(): Members | null {
      if (failed !== null) return { error: failed }
      if (ended === null) return null
      const output = items.filter(({ index }) => index !== null).map((item) => printedItem(item, false))
      return { ...head, object: 'response', error: null, output, ...ended }
    },
  }
}
