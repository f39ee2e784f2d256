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
  /** The result of the call; null if it has none yet. */
  readonly output: string | null
  /** `unknown` in conversations of older releases, which did not store how a call ended. */
  readonly state: 'running' | 'done' | 'failed' | 'stopped' | 'unknown'
}
export interface ArtifactBlock {
  readonly kind: 'artifact'
  readonly agent: string
  readonly name: string
  /** The work of a sub-agent or of another agent. */
  readonly passing?: true
}
export interface PicturesBlock {
  readonly kind: 'pictures'
  readonly passing?: true
  readonly agent: string
  readonly by: string | null
  readonly pictures: readonly ShownPicture[]
}
export interface TextBlock {
  readonly kind: 'text'
  readonly text: string
  /** The number of the answer in its run, while it is streamed. */
  readonly answer?: number
}
export type TurnBlock =
  | TextBlock
  | {
      readonly kind: 'note'
      readonly tone: 'neutral' | 'warn'
      readonly text: string
      /** True for a note that is shown only while the run works, and not in the ended turn. */
      readonly passing?: true
    }
  /** A message of the mesh, a job or another agent in the conversation. */
  | { readonly kind: 'told'; readonly text: string }
  | ArtifactBlock
  | PicturesBlock
  | ToolBlock

/**
 * One question and everything that followed so far. It is built from the events of the run while the page is open
 * (`takeFrame`), and from the agent's history after a reload (`pastTurns`): both give the same blocks for an ended
 * run.
 */
export interface Turn {
  readonly key: string
  /** The question; null for messages before the first shown question, and for a turn that no person started. */
  readonly message: string | null
  readonly state: 'sending' | 'working' | 'waiting' | 'ended' | 'refused'
  readonly runId: string | null
  readonly blocks: readonly TurnBlock[]
  readonly run: RunView | null
  /** Why no run started, or why its end is unknown. */
  readonly problem: unknown
}

export function newTurn(key: string, message: string | null): Turn {
  return { key, message, state: 'sending', runId: null, blocks: [], run: null, problem: null }
}

/** Returns the turn after the next frame of its stream. Pure. */
export function takeFrame(turn: Turn, frame: ChatStreamFrame, agent: string): Turn {
  switch (frame.type) {
    case 'accepted':
      // A stream that begins again repeats what it told before.
      return { ...turn, state: 'working', runId: frame.run_id, blocks: [] }
    case 'event':
      return {
        ...turn,
        state: stateAfter(turn, frame.event),
        blocks: takeEvent(turn.blocks, frame.event, { asked: agent, runId: turn.runId }),
      }
    case 'ended':
      return { ...turn, state: 'ended', run: frame.run, blocks: endedBlocks(turn.blocks, frame.run) }
  }
}

/** True until the turn has ended or was refused. Pure. */
export function isOpenTurn({ state }: Pick<Turn, 'state'>): boolean {
  return state !== 'ended' && state !== 'refused'
}

/** A run that waits for a person or for other work does not work meanwhile. */
function stateAfter({ state, runId }: Turn, event: FleetEventBody): Turn['state'] {
  if (event.type !== 'run.changed' || event.run_id !== runId) return state
  if (event.state === 'waiting') return 'waiting'
  return event.state === 'running' ? 'working' : state
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
  'text.streamed': (blocks, event, { runId }) => (event.run_id === runId ? withText(blocks, event) : blocks),
  'tool.started': (blocks, event, { asked: agent }) => [
    ...blocks,
    {
      kind: 'tool',
      key: toolKey(event),
      by: event.agent_id === agent ? (event.subagent ?? null) : event.agent_id,
      name: event.name,
      input: event.input,
      output: null,
      state: 'running',
    },
  ],
  'tool.ended': endTool,
  'model.delayed': (blocks, event) => (event.state === 'over' ? blocks : withNote(blocks, delayWords(event))),
  // What agents say to the agents that work for this run is not said in this conversation.
  'steer.changed': (blocks, { state, text, run_id }, { runId }) =>
    state === 'taken' && run_id === runId ? [...blocks, receivedNote(text)] : blocks,
  'approval.asked': (blocks, { summary }) => [
    ...blocks,
    { kind: 'note', tone: 'warn', text: `Waits for you under Approvals: ${summary}`, passing: true },
  ],
  'call.denied': (blocks, { action, reason }) => [
    ...blocks,
    { kind: 'note', tone: 'warn', text: `May not ${action}: ${reason}`, passing: true },
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
  const ended: readonly TurnBlock[] = blocks.map((block, index) =>
    index === at && block.kind === 'tool'
      ? { ...block, output: event.output, state: event.ok ? 'done' : 'failed' }
      : block,
  )
  const call = ended[at]
  const saved = call?.kind === 'tool' && call.state === 'done' ? savedName(call) : null
  const others = call?.kind === 'tool' && call.by !== null ? ({ passing: true } as const) : {}
  const agent = event.agent_id
  const seen = event.pictures ?? []
  const behind: readonly TurnBlock[] = [
    ...(saved === null ? [] : [{ kind: 'artifact', agent, name: saved, ...others } as const]),
    ...(seen.length === 0
      ? []
      : [{ kind: 'pictures', agent, by: event.name, pictures: seen, ...others } as const]),
  ]
  const after = at === -1 ? ended.length : at + 1
  return [...ended.slice(0, after), ...behind, ...ended.slice(after)]
}

/** The tool that stores a file outside the container. */
export const savingTool = 'save_artifact'

/** Returns the name of the artifact that a call saved; null for any other call. */
export function savedName({ name, input }: Pick<ToolBlock, 'name' | 'input'>): string | null {
  if (name !== savingTool || typeof input !== 'object' || input === null || Array.isArray(input)) return null
  const saved = input['name']
  return typeof saved === 'string' && saved !== '' ? saved : null
}

/**
 * Adds a piece to the text block of its answer. The first piece of a repeated attempt replaces the text of the
 * previous attempt.
 */
function withText(
  blocks: readonly TurnBlock[],
  { content, answer, begins }: Extract<FleetEventBody, { type: 'text.streamed' }>,
): readonly TurnBlock[] {
  const at = blocks.findLastIndex((block) => block.kind === 'text' && block.answer === answer)
  // Agents of older releases do not number their answers; then only the last block can belong to the same answer.
  if (at === -1 || (answer === undefined && at !== blocks.length - 1)) {
    return [...blocks, { kind: 'text', text: content, ...(answer === undefined ? {} : { answer }) }]
  }
  return blocks.map((block, index) =>
    index === at && block.kind === 'text'
      ? { ...block, text: begins === true ? content : block.text + content }
      : block,
  )
}

export function receivedNote(text: string): TurnBlock {
  return { kind: 'note', tone: 'neutral', text: `Received: ${text}` }
}

/** Keeps one note for a wait: a repeated notice replaces the previous one. */
function withNote(blocks: readonly TurnBlock[], text: string): readonly TurnBlock[] {
  const note = { kind: 'note', tone: 'warn', text, passing: true } as const
  const last = blocks.at(-1)
  return last?.kind === 'note' && last.passing === true ? [...blocks.slice(0, -1), note] : [...blocks, note]
}

/**
 * Returns the blocks of an ended run. The answer comes from the run's outcome, because streamed text may lack pieces.
 * Calls that still run and the work of other agents are left out, because the history does not have them either.
 * Pure.
 */
export function endedBlocks(
  blocks: readonly TurnBlock[],
  run: Pick<RunView, 'outcome'>,
): readonly TurnBlock[] {
  const own = blocks.flatMap((block): readonly TurnBlock[] => {
    if (block.kind === 'tool' && block.by !== null) return []
    if (block.kind === 'tool' && block.state === 'running') return [{ ...block, state: 'stopped' }]
    if (block.kind === 'text') return block.text.trim() === '' ? [] : [{ kind: 'text', text: block.text }]
    return 'passing' in block && block.passing ? [] : [block]
  })
  return withAnswer(own, run)
}

function withAnswer(
  blocks: readonly TurnBlock[],
  { outcome }: Pick<RunView, 'outcome'>,
): readonly TurnBlock[] {
  if (outcome?.status !== 'done' || outcome.text === '') return blocks
  const before = blocks.at(-1)?.kind === 'text' ? blocks.slice(0, -1) : blocks
  return [...before, { kind: 'text', text: outcome.text }]
}

function delayWords({ state, seconds, code }: Extract<FleetEventBody, { type: 'model.delayed' }>): string {
  const why = code === null ? '' : ` (${code})`
  return state === 'retries'
    ? `The model did not answer${why}; the next attempt is in ${seconds} s.`
    : `The model has been silent for ${seconds} s.`
}
