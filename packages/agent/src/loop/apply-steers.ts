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
  /** All that this life of the run was told, taken or not. */
  readonly steers: () => readonly SteerMessage[]
  readonly saveCheckpoint: (state: LoopState) => Promise<void>
}

/**
 * Takes what was said while the run works into its conversation, between rounds. Answers why it failed, or null.
 *
 * - **S1** A steer is on disk in the same write that makes it part of the conversation, and only then does the mesh
 *   hear of it. Killed in between, the next life finds it there and tells the mesh first.
 * - **S2** The model is asked only when the mesh has heard: what it has read can become no run of its own any more.
 * - **S3** A steer whose id the conversation knows is not taken again, however often it is sent.
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
  /** Absent where a run has none. */
  readonly subagents?: { takeLost(): PromptText | null } | undefined
}

/**
 * Sub-agents that were lost with an earlier life of the run are told of. Like what is said to it, that stands in the
 * conversation before the next round and is on disk first.
 */
export async function sayLost({ subagents, saveCheckpoint }: LostDeps, state: LoopState): Promise<void> {
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
  // Not stored by itself: told again after a crash, the mesh finds what it knows.
  state.unacknowledged = 0
  return null
}

/** What the mesh has not heard to be taken is no part of the conversation: it will be a run of its own. */
export function dropUnacknowledged(state: LoopState): void {
  if (state.unacknowledged === 0) return
  state.messages.splice(-state.unacknowledged)
  state.steers.splice(-state.unacknowledged)
  state.unacknowledged = 0
}
