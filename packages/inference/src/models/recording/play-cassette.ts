import { operatorAgentId } from '@flotilla/protocol/ids'
import type { JsonObject, JsonValue } from '@flotilla/protocol/json-value'
import type { ChatMessage } from '@flotilla/protocol/llm-exchange'
import { withoutMoment } from '@flotilla/protocol/moment-text'
import { Problem } from '@flotilla/protocol/problem'
import { cassetteRegExp } from './cassette.ts'
import type { Cassette, CassetteTrack, CassetteTurn } from './cassette.ts'

/** The next answer of the scripted model. */
export interface ReplayedTurn {
  readonly content: string | null
  readonly toolCalls: readonly { readonly name: string; readonly arguments: JsonObject }[]
  readonly delayMs: number
}

/**
 * Returns the next turn, from the conversation alone: the newest user message selects the track, and the answers
 * after it count the turns, so nothing is lost if the process is killed. Throws the Problem `provider-refused` if the
 * cassette has no such turn or a capture matched nothing. Pure.
 */
export function playCassette(
  cassette: Cassette,
  agentId: string,
  messages: readonly ChatMessage[],
): ReplayedTurn {
  const triggerAt = messages.findLastIndex(isTrigger)
  const trigger = messages[triggerAt]
  if (!trigger) throw refused('the conversation has no user message')
  const asked = withoutMoment(textOf(trigger))
  const track = cassette.tracks.find((candidate) => isMeant(candidate, agentId, asked))
  if (!track) throw refused(`no track for ${agentId} matches "${asked.slice(0, 200)}"`)
  const news = newsByTurn(messages.slice(triggerAt))
  const turn = track.turns[news.length - 1]
  if (!turn) throw refused(`the track has ${track.turns.length} turns and turn ${news.length} was asked for`)
  const captured = captureAll(track.turns.slice(0, news.length), news)
  return {
    content: turn.content === undefined ? null : fill(turn.content, captured),
    toolCalls: (turn.tool_calls ?? []).map((call) => ({
      name: call.name,
      arguments: fillObject(call.arguments, captured),
    })),
    delayMs: turn.delay_ms ?? 0,
  }
}

/** Returns the text of the newest user message, without its time, by which tracks are selected. */
export function triggerText(messages: readonly ChatMessage[]): string {
  const trigger = messages.findLast(isTrigger)
  return trigger ? withoutMoment(textOf(trigger)) : ''
}

/** Whether a message is a user's question: pictures of a tool result follow the result as a user message. */
function isTrigger(message: ChatMessage, index: number, messages: readonly ChatMessage[]): boolean {
  if (message.role !== 'user') return false
  const shows = Array.isArray(message.content) && message.content.some((part) => part['type'] === 'image_url')
  return !shows || messages[index - 1]?.role !== 'tool'
}

function isMeant(track: CassetteTrack, agentId: string, trigger: string): boolean {
  const kind = agentId === operatorAgentId ? 'operator' : 'worker'
  if (track.agent_kind !== undefined && track.agent_kind !== kind) return false
  if (track.agents !== undefined && !track.agents.includes(agentId)) return false
  return track.when === undefined || cassetteRegExp(track.when).test(trigger)
}

/** Returns the messages that were new to the model before each of its turns: the user message, then tool results. */
function newsByTurn(messages: readonly ChatMessage[]): string[] {
  const news: string[][] = [[]]
  for (const message of messages) {
    if (message.role === 'assistant') news.push([])
    else if (message.role !== 'system' && message.role !== 'developer') news.at(-1)?.push(textOf(message))
  }
  return news.map((texts) => texts.join('\n'))
}

function captureAll(turns: readonly CassetteTurn[], news: readonly string[]): ReadonlyMap<string, string> {
  const captured = new Map<string, string>()
  for (const [index, turn] of turns.entries()) {
    for (const [name, source] of Object.entries(turn.capture ?? {})) {
      const caught = cassetteRegExp(source).exec(news[index] ?? '')?.[1]
      if (caught === undefined) {
        throw refused(`turn ${index + 1}: the capture ${name} /${source}/ caught nothing in what came before`)
      }
      captured.set(name, caught)
    }
  }
  return captured
}

function fill(template: string, captured: ReadonlyMap<string, string>): string {
  return template.replace(/\{\{\s*([a-z][a-z0-9_]*)\s*\}\}/g, (_whole, name: string) => {
    const value = captured.get(name)
    if (value === undefined) throw refused(`{{${name}}} was never captured`)
    return value
  })
}

function fillObject(object: JsonObject, captured: ReadonlyMap<string, string>): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, fillValue(value, captured)]))
}

function fillValue(value: JsonValue, captured: ReadonlyMap<string, string>): JsonValue {
  if (typeof value === 'string') return fill(value, captured)
  if (Array.isArray(value)) return value.map((entry) => fillValue(entry, captured))
  if (typeof value === 'object' && value !== null) return fillObject(value, captured)
  return value
}

function textOf(message: ChatMessage): string {
  const content = message.content ?? ''
  if (typeof content === 'string') return content
  return content.map((part) => (typeof part['text'] === 'string' ? part['text'] : '')).join('\n')
}

function refused(detail: string): Problem {
  return new Problem('provider-refused', { detail: `cassette: ${detail}` })
}
