import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'
import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { JsonValue } from '@flotilla/protocol/json-value'
import type { ShownPicture } from '@flotilla/protocol/shown-picture'
import type { RunView } from '@flotilla/protocol/run'

export interface ToolBlock {
  readonly kind: 'tool'
  readonly key: string
  /** The agent that made the call, if it is not the agent of the conversation. */
  readonly by: string | null
  readonly name: string
  readonly input: JsonValue
  readonly output: string | null
  readonly ok: boolean
}
export interface PicturesBlock {
  readonly kind: 'pictures'
  readonly agent: string
  readonly by: string
  readonly pictures: readonly ShownPicture[]
}
export type TurnBlock =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'note'; readonly tone: 'neutral' | 'warn'; readonly text: string }
  | { readonly kind: 'artifact'; readonly agent: string; readonly name: string }
  | PicturesBlock
  | ToolBlock

/** One question and everything that followed so far. */
export interface Turn {
  readonly key: string
  readonly message: string
  readonly state: 'sending' | 'working' | 'ended' | 'refused'
  readonly runId: string | null
  readonly blocks: readonly TurnBlock[]
  readonly run: RunView | null
  /** Why no run started, or why its end is unknown. */
  readonly problem: unknown
}

export function newTurn(key: string, message: string): Turn {
  return { key, message, state: 'sending', runId: null, blocks: [], run: null, problem: null }
}

/** Returns the turn after the next frame of its stream. Pure. */
export function takeFrame(turn: Turn, frame: ChatStreamFrame, asked: string): Turn {
  switch (frame.type) {
    case 'accepted':
      return { ...turn, state: 'working', runId: frame.run_id }
    case 'event':
      return { ...turn, blocks: takeEvent(turn.blocks, frame.event, { asked, runId: turn.runId }) }
    case 'ended':
      return { ...turn, state: 'ended', run: frame.run, blocks: withAnswer(turn.blocks, frame.run) }
  }
}

interface Whose {
  readonly asked: string
  readonly runId: string | null
}

type Kind = FleetEventBody['type']
type Take<K extends Kind> = (
  blocks: readonly TurnBlock[],
  event: Extract<FleetEventBody, { type: K }>,
  whose: Whose,
) => readonly TurnBlock[]

/** How a conversation shows each event of its runs; events without an entry are only on other pages. */
const taken: { readonly [K in Kind]?: Take<K> } = {
  // Streamed text of other agents is left out, because the asked agent reports their results.
  'text.streamed': (blocks, { run_id, content }, { runId }) =>
    run_id === runId ? withText(blocks, content) : blocks,
  'tool.started': (blocks, event, { asked }) => [
    ...blocks,
    {
      kind: 'tool',
      key: toolKey(event),
      by: event.agent_id === asked ? (event.subagent ?? null) : event.agent_id,
      name: event.name,
      input: event.input,
      output: null,
      ok: true,
    },
  ],
  'tool.ended': endTool,
  'model.delayed': (blocks, event) => (event.state === 'over' ? blocks : withNote(blocks, delayWords(event))),
  'steer.changed': (blocks, { state, text }) =>
    state === 'taken' ? [...blocks, { kind: 'note', tone: 'neutral', text: `Received: ${text}` }] : blocks,
  'approval.asked': (blocks, { summary }) => [
    ...blocks,
    { kind: 'note', tone: 'warn', text: `Waits for you under Approvals: ${summary}` },
  ],
  'call.denied': (blocks, { action, reason }) => [
    ...blocks,
    { kind: 'note', tone: 'warn', text: `May not ${action}: ${reason}` },
  ],
}

function takeEvent<K extends Kind>(
  blocks: readonly TurnBlock[],
  event: Extract<FleetEventBody, { type: K }>,
  whose: Whose,
): readonly TurnBlock[] {
  const take: Take<K> | undefined = taken[event.type]
  return take ? take(blocks, event, whose) : blocks
}

function toolKey(event: { readonly run_id: string; readonly step: number; readonly name: string }): string {
  return `${event.run_id}:${event.step}:${event.name}`
}

/** Ends the first unfinished call with this step and tool: a step may call the same tool twice. */
function endTool(
  blocks: readonly TurnBlock[],
  event: Extract<FleetEventBody, { type: 'tool.ended' }>,
): readonly TurnBlock[] {
  const at = blocks.findIndex(
    (block) => block.kind === 'tool' && block.output === null && block.key === toolKey(event),
  )
  const ended = blocks.map((block, index) =>
    index === at && block.kind === 'tool' ? { ...block, output: event.output, ok: event.ok } : block,
  )
  const call = ended[at]
  const saved = call?.kind === 'tool' && call.ok ? savedName(call) : null
  return [
    ...ended,
    ...(saved === null ? [] : [{ kind: 'artifact', agent: event.agent_id, name: saved } as const]),
    ...(event.pictures === undefined
      ? []
      : [{ kind: 'pictures', agent: event.agent_id, by: event.name, pictures: event.pictures } as const]),
  ]
}

/** Returns the name of the artifact that a call saved; null for any other call. */
function savedName({ name, input }: ToolBlock): string | null {
  if (name !== 'save_artifact' || typeof input !== 'object' || input === null || Array.isArray(input))
    return null
  const saved = input['name']
  return typeof saved === 'string' && saved !== '' ? saved : null
}

function withText(blocks: readonly TurnBlock[], content: string): readonly TurnBlock[] {
  const last = blocks.at(-1)
  return last?.kind === 'text'
    ? [...blocks.slice(0, -1), { kind: 'text', text: last.text + content }]
    : [...blocks, { kind: 'text', text: content }]
}

/** Keeps one note for a wait: a repeated notice replaces the previous one. */
function withNote(blocks: readonly TurnBlock[], text: string): readonly TurnBlock[] {
  const note = { kind: 'note', tone: 'warn', text } as const
  const last = blocks.at(-1)
  return last?.kind === 'note' && last.tone === 'warn' ? [...blocks.slice(0, -1), note] : [...blocks, note]
}

/** Replaces the streamed answer by the outcome in the ledger, because streamed text may lack chunks. */
function withAnswer(blocks: readonly TurnBlock[], { outcome }: RunView): readonly TurnBlock[] {
  if (!outcome || outcome.status !== 'done' || outcome.text === '') return blocks
  const last = blocks.at(-1)
  const before = last?.kind === 'text' ? blocks.slice(0, -1) : blocks
  return [...before, { kind: 'text', text: outcome.text }]
}

function delayWords({ state, seconds, code }: Extract<FleetEventBody, { type: 'model.delayed' }>): string {
  const why = code === null ? '' : ` (${code})`
  return state === 'retries'
    ? `The model did not answer${why}; the next attempt is in ${seconds} s.`
    : `The model has been silent for ${seconds} s.`
}
