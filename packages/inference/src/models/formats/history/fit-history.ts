import { createHash } from 'node:crypto'
import { isJsonObject } from '@flotilla/protocol/is-json-object'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import { jsonLimits } from '@flotilla/protocol/limits'
import { wellFormedJson } from '@flotilla/protocol/well-formed-json'
import { readJsonQuietly } from '@flotilla/foundation/intake'
import { fitTurns } from './fit-turns.ts'
import type { HistoryRules } from './history-rules.ts'
import { thoughtsFor } from './thoughts-for.ts'

/**
 * Converts a conversation in the normal form to what the next provider accepts, also if other providers have answered
 * so far. A provider rejects every further call while one message breaks its rules, so each rule here holds for the
 * whole conversation:
 *
 * - ids of tool calls are unique, and in the form that this provider accepts;
 * - invalid tool names that the model made up are made valid;
 * - arguments are the text of an object;
 * - each call has one result, right after the calls of its answer, and each result has a call;
 * - if the provider requires it, an answer separates tool results from the next user message;
 * - no text has half of a surrogate pair, and required texts are not empty;
 * - thinking is sent only to the provider that made it, in its original form;
 * - if the provider requires it, the roles alternate (`fit-turns.ts`).
 *
 * Returns the same list if nothing changes. Pure.
 */
export function fitHistory(messages: JsonValue, rules: HistoryRules): JsonValue {
  if (!Array.isArray(messages)) return messages
  const fitted: JsonValue[] = []
  const ids = createCallIds(rules)
  let isChanged = false
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at] ?? null
    if (!isJsonObject(message)) fitted.push(message)
    else if (message['role'] === 'assistant' && callsOf(message).length > 0) {
      const end = groupEnd(messages, at)
      const group = messages.slice(at, end)
      const whole = fitGroup(group.filter(isJsonObject), { rules, ids })
      isChanged ||= whole.length !== group.length || whole.some((one, place) => one !== group[place])
      fitted.push(...whole)
      at = end - 1
    } else if (message['role'] === 'tool') {
      isChanged = true
      fitted.push(lostResult(message))
    } else {
      const plain = fitPlain(message, rules)
      isChanged ||= plain !== message
      fitted.push(plain)
    }
  }
  const whole = isChanged ? fitted : messages
  const ordered = rules.rolesInTurn ? fitTurns(whole, rules.joinsParts) : whole
  const answered = rules.answersResults ? withAnswers(ordered) : ordered
  return answered.length === ordered.length ? ordered : answered
}

/** The answer that is inserted between tool results and a user message right after them. */
const resultsTaken = '[results received]'

function withAnswers(messages: readonly JsonValue[]): JsonValue[] {
  return messages.flatMap((message, at) => {
    const isOpen = roleOf(messages[at - 1]) === 'tool' && roleOf(message) === 'user'
    return isOpen ? [{ role: 'assistant', content: resultsTaken }, message] : [message]
  })
}

function roleOf(message: JsonValue | undefined): JsonValue | undefined {
  return isJsonObject(message) ? message['role'] : undefined
}

/** Converts a tool result without a call to a user message, because providers reject such a result. */
function lostResult(result: JsonObject): JsonObject {
  const content = `[Result of an earlier call] ${textOf(result['content'])}`
  return { role: 'user', content: content.toWellFormed() }
}

/** Returns the index after the tool results that follow an answer. */
function groupEnd(messages: readonly JsonValue[], from: number): number {
  let end = from + 1
  while (end < messages.length) {
    const message = messages[end]
    if (!isJsonObject(message) || message['role'] !== 'tool') break
    end++
  }
  return end
}

interface Fitting {
  readonly rules: HistoryRules
  readonly ids: CallIds
}

const notMade = '[not made]'

function fitGroup([answer, ...results]: readonly JsonObject[], { rules, ids }: Fitting): JsonObject[] {
  if (answer === undefined) return []
  const known = new Map<string, string>()
  const waiting = Map.groupBy(results.toReversed(), (result) => textOf(result['tool_call_id']))
  const taken = new Set<JsonObject>()
  const fittedResults: JsonObject[] = []
  const made = callsOf(answer)
  const calls = made.map((call) => {
    const given = textOf(call['id'])
    const name = isJsonObject(call['function']) ? textOf(call['function']['name']) : ''
    const id = ids.next(given, name)
    if (!known.has(given)) known.set(given, id)
    const result = waiting.get(given)?.pop()
    if (result !== undefined) taken.add(result)
    fittedResults.push(fitResult(result, id))
    return fitCall(call, id)
  })
  const lost = results.filter((result) => !taken.has(result)).map(lostResult)
  const thought = thoughtsFor(answer['reasoning_details'], { rules, known, hasCalls: true })
  const { reasoning_details: _details, ...given } = answer
  // Some providers reject blank content beside tool calls.
  const isBlank = typeof answer['content'] === 'string' && answer['content'].trim() === ''
  const rest = isBlank ? { ...given, content: null } : given
  const isSame =
    !isBlank && thought.isSame && lost.length === 0 && calls.every((call, at) => call === made[at])
  const fitted = isSame ? answer : { ...rest, ...thought.members, tool_calls: sealed(calls, thought.seals) }
  return [wellFormedMessage(fitted), ...fittedResults, ...lost]
}

/** Adds Google's signatures to the calls that they belong to. */
function sealed(calls: readonly JsonObject[], seals: ReadonlyMap<string, string>): JsonObject[] {
  return calls.map((call) => {
    const seal = seals.get(textOf(call['id']))
    return seal === undefined ? call : { ...call, extra_content: { google: { thought_signature: seal } } }
  })
}

function fitCall(call: JsonObject, id: string): JsonObject {
  const made = isJsonObject(call['function']) ? call['function'] : {}
  const name = fittedName(textOf(made['name']))
  const written = argumentsOf(made['arguments'])
  if (
    call['id'] === id &&
    made['name'] === name &&
    made['arguments'] === written &&
    call['type'] === 'function'
  )
    return call
  return { ...call, id, type: 'function', function: { ...made, name, arguments: written } }
}

function argumentsOf(value: JsonValue | undefined): string {
  const text = wellFormedJson(typeof value === 'string' ? value : JSON.stringify(value ?? {}))
  return isJsonObject(readJsonQuietly(text, jsonLimits.modelBody)) ? text : '{}'
}

function fitResult(result: JsonObject | undefined, id: string): JsonObject {
  if (result === undefined) return { role: 'tool', tool_call_id: id, content: notMade }
  const { content } = result
  const fitted =
    saysAnything(content) || isBlankText(content) ? (withoutEmptyParts(content) ?? notMade) : '[no output]'
  if (result['tool_call_id'] === id && fitted === content) return wellFormedMessage(result)
  return wellFormedMessage({ ...result, tool_call_id: id, content: fitted })
}

/** Fits a message without tool calls. */
function fitPlain(message: JsonObject, rules: HistoryRules): JsonObject {
  const { reasoning_details: details, tool_calls: calls, content, ...rest } = message
  const isEmpty = !saysAnything(content)
  const hasExtras = details !== undefined || (calls !== undefined && message['role'] === 'assistant')
  const isOfTurn = message['role'] === 'user' || message['role'] === 'assistant'
  const fitted = isEmpty && isOfTurn ? '[empty]' : withoutEmptyParts(content)
  if (!hasExtras && fitted === content) return wellFormedMessage(message)
  const thought = thoughtsFor(details, { rules, known: new Map(), hasCalls: false })
  return wellFormedMessage({
    ...rest,
    ...(fitted === undefined ? {} : { content: fitted }),
    ...thought.members,
  })
}

/** Whether the content has words, or a part that is not an empty text (such as a picture or a file). */
function saysAnything(content: JsonValue | undefined): boolean {
  if (typeof content === 'string') return content.trim() !== ''
  return Array.isArray(content) && content.some((part) => !isEmptyPart(part))
}

function isBlankText(content: JsonValue | undefined): boolean {
  return typeof content === 'string' && content !== ''
}

function isEmptyPart(part: JsonValue): boolean {
  if (!isJsonObject(part) || part['type'] !== 'text') return false
  return typeof part['text'] !== 'string' || part['text'].trim() === ''
}

/** Removes text parts without words: Anthropic rejects them even beside other parts. */
function withoutEmptyParts(content: JsonValue | undefined): JsonValue | undefined {
  if (!Array.isArray(content) || !content.some(isEmptyPart)) return content
  return content.filter((part) => !isEmptyPart(part))
}

const nameMaxChars = 64

/** Replaces characters that a provider may reject in a tool name that the model made up; the name stays readable. */
function fittedName(name: string): string {
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return name
  const plain = name
    .toWellFormed()
    .replace(/[^a-zA-Z0-9_-]+/g, '_')
    .slice(0, nameMaxChars)
  return /[a-zA-Z0-9]/.test(plain) ? plain : 'unnamed_call'
}

interface CallIds {
  next(given: string, name: string): string
}

/** Makes call ids that are unique in the conversation; the same conversation gets the same ids each time. */
function createCallIds({ callId, callIdChars, countsCalls }: HistoryRules): CallIds {
  const seen = new Set<string>()
  let count = 0
  return {
    next(given, name) {
      const place = count++
      if (countsCalls) return `functions.${fittedName(name)}:${place}`
      const fits = callId.test(given)
      let id = fits ? given : ''
      for (let tries = 0; id === '' || seen.has(id); tries++) {
        // The first try hashes the given id alone, so a longer history does not change the result.
        const mark = `${given}${fits || given === '' ? ` ${place}` : ''}${tries === 0 ? '' : ` ${tries} ${place}`}`
        id = createHash('sha256').update(mark).digest('hex').slice(0, callIdChars)
      }
      seen.add(id)
      return id
    },
  }
}

function callsOf(message: JsonObject): readonly JsonObject[] {
  const calls = message['tool_calls']
  return Array.isArray(calls) ? calls.filter(isJsonObject) : []
}

/** Replaces halves of surrogate pairs; returns the same message if nothing changes. */
function wellFormedMessage(message: JsonObject): JsonObject {
  const whole = wellFormedValue(message)
  return isJsonObject(whole) ? whole : message
}

function wellFormedValue(value: JsonValue): JsonValue {
  if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed()
  if (Array.isArray(value)) {
    const whole = value.map(wellFormedValue)
    return whole.some((one, at) => one !== value[at]) ? whole : value
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, inner]) => [name, wellFormedValue(inner)] as const)
  return entries.some(([name, inner]) => inner !== value[name]) ? Object.fromEntries(entries) : value
}

function textOf(value: JsonValue | undefined): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return ''
  return value
    .map((part) => (isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : ''))
    .join('\n')
}
