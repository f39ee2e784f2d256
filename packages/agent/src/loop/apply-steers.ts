import { meshAgentEndpoints } from '@flotilla/protocol/mesh-agent-api'
import { Problem } from '@flotilla/protocol/problem'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import { steererPerson } from '@flotilla/protocol/steer'
import type { SteerMessage } from '@flotilla/protocol/steer'
import type { Speaker } from '../llm/language-model.ts'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { LoopState } from './loop-state.ts'
import { notices } from './notices.ts'

export interface SteeringDeps {
  readonly mesh: RunMesh
  /** All steers that this attempt of the run received, confirmed or not. */
  readonly steers: () => readonly SteerMessage[]
  readonly saveCheckpoint: (state: LoopState) => Promise<void>
}

/**
 * Adds the steers of a running run to its conversation, between rounds. Returns why it failed, or null.
 *
 * - **S1** A steer is on disk in the same write that adds it to the conversation; only then is it confirmed
 *   to the mesh. If the agent is killed in between, the next attempt finds it there and confirms it first.
 * - **S2** The model is called only after the confirmation: a steer that it has read can no longer become a
 *   run of its own.
 * - **S3** A steer whose id is already in the conversation is ignored, however often it is sent.
 */
export async function applySteers(
  deps: SteeringDeps,
  state: LoopState,
  signal: AbortSignal,
): Promise<Problem | null> {
  const late = await acknowledge(deps, state, signal)
  if (late) return late
  const known = new Set(state.steers.map((steer) => steer.id))
  const waiting = deps.steers().filter((steer) => !known.has(steer.id))
  if (waiting.length === 0) return null
  for (const steer of waiting) {
    state.messages.push({ role: 'user', content: notices.steer(steer), by: spokenBy(steer) })
    state.steers.push({ id: steer.id, step: state.step })
  }
  state.unacknowledged = waiting.length
  await deps.saveCheckpoint(state)
  return acknowledge(deps, state, signal)
}

interface LostDeps extends Pick<SteeringDeps, 'saveCheckpoint'> {
  /** Absent if a run has no sub-agents. */
  readonly subagents?: { takeLost(): PromptText | null } | undefined
}

/**
 * Reports sub-agents that were lost with an earlier attempt of the run. Like a steer, the message is in the
 * conversation before the next round, and on disk first.
 */
export async function reportLostSubagents(
  { subagents, saveCheckpoint }: LostDeps,
  state: LoopState,
): Promise<void> {
  const lost = subagents?.takeLost() ?? null
  if (lost === null) return
  state.messages.push({ role: 'user', content: lost })
  await saveCheckpoint(state)
}

function spokenBy({ from }: SteerMessage): Speaker {
  return from === steererPerson ? 'person' : 'other'
}

async function acknowledge(
  { mesh }: SteeringDeps,
  state: LoopState,
  signal: AbortSignal,
): Promise<Problem | null> {
  signal.throwIfAborted()
  if (state.unacknowledged === 0) return null
  const taken = state.steers.slice(-state.unacknowledged)
  const body = { ids: taken.map((steer) => steer.id), step: taken[0]?.step ?? state.step }
  try {
    await mesh.call({ endpoint: meshAgentEndpoints.steersTaken, body, signal })
  } catch (error) {
    signal.throwIfAborted()
    return error instanceof Problem ? error : new Problem('internal-error', { cause: error })
  }
  // The confirmation is not stored: after a crash the steers are confirmed again, and the mesh knows their ids.
  state.unacknowledged = 0
  return null
}

/**
 * A steer that was not confirmed to the mesh is removed from the conversation, because it will become a run
 * of its own.
 */
export function dropUnacknowledged(state: LoopState): void {
  if (state.unacknowledged === 0) return
  state.messages.splice(-state.unacknowledged)
  state.steers.splice(-state.unacknowledged)
  state.unacknowledged = 0
}
