import type { HistoryMessage } from '@flotilla/protocol/chat-history'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { endedBlocks, receivedNote, savedName } from './turn.ts'
import type { Turn, TurnBlock } from './turn.ts'

/** A turn while its messages are read; `open` lists the calls without a result so far, in their order. */
interface Reading {
  readonly runId: string | null
  asked: string | null
  readonly blocks: TurnBlock[]
  readonly open: { readonly name: string; readonly input: JsonValue; readonly block: TurnBlock }[]
  /** Why the turn has no complete answer; null if it has one. */
  unanswered: string | null
  /** True once the history contains the last message of the turn. */
  closed: boolean
}

/** A turn of the agent's history. */
export interface PastTurn extends Turn {
  /**
   * True if the history contains the turn from question to end, so that it can replace the turn that the page built
   * from events.
   */
  readonly isWhole: boolean
}

/**
 * Groups the messages of a history by their run: everything that one run said and did is one turn, and a call and its
 * result are one step. Messages of older releases name no run; each question among them begins a turn, without the
 * facts of a run. Pure.
 */
export function pastTurns(
  messages: readonly HistoryMessage[],
  runs: readonly RunView[],
  agent: string,
): readonly PastTurn[] {
  const turns: Reading[] = []
  for (const message of messages) readMessage(turnOf(turns, message), message, agent)
  const known = new Map(runs.map((run) => [run.id, run]))
  return turns.map((turn, index) => shownTurn(turn, index, known))
}

/**
 * Returns the turn of a message, or adds one. A run that waited for other agents continues in its own turn, even if
 * other runs wrote messages in between.
 */
function turnOf(turns: Reading[], message: HistoryMessage): Reading {
  const runId = message.run_id ?? null
  const begins = message.role === 'user' && message.steered !== true
  const found =
    runId === null
      ? turns.at(-1)?.runId === null && !begins
        ? turns.at(-1)
        : undefined
      : turns.find((turn) => turn.runId === runId)
  if (found) return found
  const turn: Reading = { runId, asked: null, blocks: [], open: [], unanswered: null, closed: false }
  turns.push(turn)
  return turn
}

function readMessage(turn: Reading, message: HistoryMessage, agent: string): void {
  const { role, text, calls, steered, unanswered } = message
  turn.closed = role === 'assistant' && calls.length === 0
  if (steered === true) turn.blocks.push(receivedNote(text))
  else if (role === 'user') turn.asked ??= text
  else if (role === 'system') turn.blocks.push({ kind: 'told', text })
  else if (role === 'tool') addResult(turn, message, agent)
  else {
    if (text.trim() !== '') turn.blocks.push({ kind: 'text', text })
    if (unanswered !== undefined) turn.unanswered = unanswered
    for (const { name, input } of calls) addCall(turn, name, readInput(input))
  }
}

function addCall(turn: Reading, name: string, input: JsonValue): void {
  const key = `past:${turn.blocks.length}`
  const block = { kind: 'tool', key, by: null, name, input, output: null, state: 'stopped' } as const
  turn.blocks.push(block)
  turn.open.push({ name, input, block })
}

/** Adds a result to the first call without one, because results are in the order of their calls. */
function addResult(turn: Reading, message: HistoryMessage, agent: string): void {
  const { text, pictures = [], ended, run_id: runId } = message
  const call = turn.open.shift()
  // The result of a call that a compaction removed is still in the history; the name of that call is unknown.
  const { name, input } = call ?? { name: 'result', input: '' }
  const at = call ? turn.blocks.indexOf(call.block) : turn.blocks.length
  if (ended === 'not-made') {
    turn.blocks.splice(at, 1)
    return
  }
  const state = ended ?? (runId === undefined ? 'unknown' : 'done')
  const saved = state === 'done' || state === 'unknown' ? savedName({ name, input }) : null
  const output = ended === 'stopped' ? null : text
  const key = `past:${at}`
  turn.blocks.splice(
    at,
    1,
    { kind: 'tool', key, by: null, name, input, output, state },
    ...(saved === null ? [] : [{ kind: 'artifact', agent, name: saved } as const]),
    ...(pictures.length === 0 ? [] : [{ kind: 'pictures', agent, by: name, pictures } as const]),
  )
}

function shownTurn(turn: Reading, index: number, known: ReadonlyMap<string, RunView>): PastTurn {
  const { runId, asked: message, blocks, unanswered, closed } = turn
  const run = runId === null ? undefined : known.get(runId)
  const isEnded = run !== undefined && isTerminal(run.state)
  // If the run's outcome is known, it contains the reason; otherwise the note shows the one from the history.
  const reason: readonly TurnBlock[] =
    unanswered === null || isEnded ? [] : [{ kind: 'note', tone: 'warn', text: `No answer: ${unanswered}` }]
  return {
    key: runId ?? `past:${index}`,
    message,
    state: 'ended',
    runId,
    blocks: [...(isEnded ? endedBlocks(blocks, run) : blocks), ...reason],
    run: run ?? null,
    problem: null,
    isWhole: runId !== null && message !== null && closed,
  }
}

/** Parses a call's arguments; arguments that the agent shortened are no JSON and stay text. */
function readInput(input: string): JsonValue {
  try {
    return JSON.parse(input) as JsonValue
  } catch {
    return input
  }
}
