import type { Secret } from '@flotilla/egress/credentials'
import { unwrapped } from '../answer/wire-values.ts'
import { endOf } from '../answer/end-reasons.ts'
import { errorInAnswer, errorWordsIn, isFilledError } from '../answer/error-in-answer.ts'
import { membersOf } from '../claude/claude-message.ts'
import type { Members } from '../claude/claude-message.ts'
import { isRecord } from '../empty-answer.ts'
import { wordsOf } from '../answer/read-words.ts'
import { itemsIn, usageIn } from './answer-item.ts'
import { failureIn } from '../responses/response-status.ts'
import { createOpenItems } from './open-items.ts'
import type { ItemPiece } from './open-items.ts'

interface Told {
  /** The value with the digits of its numbers. */
  readonly written: Members
  /** The name of the event, for servers that leave out its type. */
  readonly event: string
}

export interface ItemsOptions {
  readonly secrets: readonly Secret[]
  /** Called with the usage of a failed response, in OpenAI's form. */
  readonly billed?: ((usage: Members) => void) | undefined
}

/**
 * Reads the events of a response in any order and form, and returns them as OpenAI documents them. What an item lacks of
 * its pieces is taken from its end, or from the response at the end. One per answer.
 *
 * - A delta may come before its item, and an item without deltas.
 * - A refusal is words, and a reason for the end.
 * - Behind the end nothing counts, so that no failure revokes an answer that is paid for.
 * - A response that failed or was cancelled is an error, whatever the name of its event; `billed` gets its usage.
 */
export function createItemsMender({ secrets, billed }: ItemsOptions) {
  const items = createOpenItems()
  let head: Members | null = null
  let hasAny = false
  let strange = ''
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

  function finished(type: string, response: Members, written: Members): Members[] {
    const output = itemsIn(response['output'])
    const alone = response['output_text']
    const events = [...begin(response), ...items.completed(output, itemsIn(written['output']))]
    if (output.length === 0 && items.isEmpty() && typeof alone === 'string' && alone !== '')
      events.push(...items.piece({ kind: 'message', isWhole: true, text: alone, part: 0, value: {} }))
    events.push(...items.closeAll())
    const reason = cutBy(type, response, items.isRefused())
    if (reason instanceof Error) return [...events, ...failure({ message: reason.message }, response)]
    ended = { incomplete_details: reason === null ? null : { reason }, usage: usageIn(response) }
    const name = reason === null ? 'response.completed' : 'response.incomplete'
    return [...events, { type: name, response: { ...head, ...ended } }]
  }

  function ending(type: string, response: Members, written: Members): Members[] {
    const words = failureIn(type, response)
    return words === null ? finished(type, response, written) : failure(response['error'], response, words)
  }

  function failure(given: unknown, response: Members, words = 'the response failed'): Members[] {
    if (ended !== null || failed !== null) return []
    const message = errorWordsIn(given)
    failed = printedError({ ...membersOf(given), ...(message === '' ? {} : { message }) }, words)
    bill(response)
    return [{ type: 'error', error: failed }]
  }

  function bill(response: Members): void {
    const usage = usageIn(response)
    if (usage !== null) billed?.(usage)
  }

  function takeEvent(type: string, value: Members, written: Members): Members[] {
    const response = membersOf(value['response'])
    switch (type) {
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        return begin(response)
      case 'response.output_item.added':
        return items.added(membersOf(value['item']), value['output_index'])
      case 'response.output_item.done':
        return items.done(membersOf(value['item']), membersOf(written['item']), value['output_index'])
      case 'response.completed':
      case 'response.done':
      case 'response.incomplete':
      case 'response.failed':
      case 'response.cancelled':
        return ending(type, response, membersOf(written['response']))
      case 'error':
        return failure(isFilledError(value['error']) ? value['error'] : value, response)
      default: {
        const piece = pieceOf(type, value, written)
        if (type.startsWith('response.refusal')) items.refuse()
        return piece === null ? [] : items.piece(piece)
      }
    }
  }

  /** Takes a response that comes as one object, or an error in its place. */
  function takeWhole(value: Members, written: Members): Members[] {
    const { status, output } = value
    const isOpen = status === 'in_progress' || status === 'queued'
    if (isOpen && failureIn('whole', value) === null) return begin(value)
    if (output !== undefined || value['object'] === 'response' || failureIn('whole', value) !== null)
      return ending('whole', value, written)
    const problem = errorInAnswer(value, { secrets })
    if (problem !== null) return failure({ message: problem.detail }, {})
    strange ||= Object.keys(value).slice(0, 8).join(', ').slice(0, 100)
    return []
  }

  return {
    take(value: Members, { written, event }: Told): readonly Members[] {
      if (ended !== null) return []
      if (failed !== null) {
        // OpenAI sends `error` and, behind it, `response.failed` with the usage.
        bill(membersOf(value['response']))
        return []
      }
      const given = value['type']
      const type = typeof given === 'string' ? given : event
      const isEvent = type === 'error' || type.startsWith('response.')
      const events = isEvent
        ? takeEvent(type, value, written)
        : takeWhole(unwrapped(value, 'output'), unwrapped(written, 'output'))
      hasAny ||= isEvent || events.length > 0
      return events
    },
    sawDone: () => void (isMarkedDone = true),
    hasAny: () => hasAny,
    strange: () => strange,
    /** Returns the end that a proxy has left out before its own mark, if all items are complete. */
    end(): readonly Members[] {
      const isWhole = isMarkedDone && items.isWhole()
      return ended === null && failed === null && isWhole ? finished('response.completed', {}, {}) : []
    },
    /** Returns the whole answer, or the error in its place; null if the answer has not ended. */
    whole(): Members | null {
      if (failed !== null) return { error: failed }
      if (ended === null) return null
      return { ...head, object: 'response', error: null, output: items.printed(), ...ended }
    },
  }
}

const pieceTypes =
  /^response\.(output_text|refusal|reasoning_summary_text|reasoning_text|function_call_arguments)\.(delta|done)$/

function pieceOf(type: string, value: Members, written: Members): ItemPiece | null {
  const [, what, phase] = pieceTypes.exec(type) ?? []
  if (what === undefined) return null
  const texts = ['delta', 'text', 'refusal', 'arguments'].map((member) => value[member])
  const kind = what.startsWith('reasoning') ? 'thinking' : what.startsWith('function') ? 'call' : 'message'
  const given = texts.find((one) => typeof one === 'string') ?? texts.find((one) => isRecord(one))
  const isCall = kind === 'call' && isRecord(given)
  const text = isCall
    ? JSON.stringify(written['delta'] ?? written['arguments'] ?? given)
    : wordsOf(given ?? '')
  const part = value['content_index'] ?? value['summary_index'] ?? 0
  return { kind, isWhole: phase === 'done', text, part, value }
}

/** Returns why an answer is incomplete, in OpenAI's words; null for a complete one, an error for a failure. */
function cutBy(type: string, response: Members, isRefused: boolean): string | null | Error {
  const details = response['incomplete_details']
  const reason = typeof details === 'string' && details !== '' ? details : membersOf(details)['reason']
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

function printedError({ type, code, message, param }: Members, words: string): Members {
  return {
    type: typeof type === 'string' && type !== 'error' ? type : 'server_error',
    code: typeof code === 'string' ? code : typeof code === 'number' ? String(code) : null,
    message: typeof message === 'string' && message !== '' ? message : words,
    param: typeof param === 'string' ? param : null,
  }
}
