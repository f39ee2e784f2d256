import { limits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { Log } from '../log.ts'
import type { LoopState } from '../loop/loop-state.ts'
import type { RoundsDeps } from '../loop/run-rounds.ts'
import type { ExclusiveUse } from '../tools/exclusive-use.ts'
import { lostWords } from './crew-words.ts'
import type { LivingCrew } from './living-crew.ts'
import { lostSubagents } from './lost-subagents.ts'
import type { LostSubagent } from './lost-subagents.ts'

/** The loop that a crew works for. */
export interface CrewParent {
  readonly deps: RoundsDeps
  readonly state: LoopState
  readonly signal: AbortSignal
}

export interface CrewDeps {
  /** Of the loop whose crew this is: 0 for the agent's own. */
  readonly depth: number
  readonly systemPrompt: () => Promise<PromptText>
  readonly exclusive: ExclusiveUse
  readonly log: Log
}

/**
 * The sub-agents of one loop, which calls `begin` before its first round and `end` after its last, whatever ended it.
 *
 * - **C1** A loop has `concurrentMax` living sub-agents at most; a loop at `depthMax` has none and no tool to begin any.
 * - **C2** No sub-agent outlives the loop that began it: `end` stops them all and waits until they have let go.
 * - **C3** What a sub-agent uses is its parent's use, as soon as it is used, up to the run's own.
 * - **C4** None is begun twice. Those that a crash has ended are told to the parent as of unknown outcome.
 * - **C5** A turn does not end over unread results before its agent was told of them, once.
 */
export interface Crew {
  begin(parent: CrewParent): void
  end(): Promise<void>
  /** What a crash has taken, to be said to the parent; null when nothing was, or when it was told. */
  takeLost(): PromptText | null
  /** Results that the parent has not read, to be said before its turn ends; null when there are none that it was not told of. */
  takeUnread(): PromptText | null
  /** For the tools. Rejects with `unprocessable` where no loop runs. */
  living(): Promise<LivingCrew>
}

/** Cheap: what begins and keeps sub-agents is loaded with the first. */
export function createCrew(deps: CrewDeps): Crew {
  if (deps.depth >= limits.subagents.depthMax) throw new Error('a loop at the last depth has no crew')
  let parent: CrewParent | null = null
  let living: LivingCrew | null = null
  let lost: readonly LostSubagent[] = []
  let isLostTold = false

  const current = (): CrewParent => {
    if (parent) return parent
    throw new Problem('unprocessable', {
      detail: 'Sub-agents work for a conversation or a task, and there is none here.',
    })
  }
  return {
    begin: (loop) => {
      parent = loop
      lost = lostSubagents(loop.state.toolOutputs)
      isLostTold = lost.length === 0
    },
    end: async () => {
      parent = null
      await living?.end()
    },
    takeLost: () => {
      if (isLostTold) return null
      isLostTold = true
      return lostWords(lost)
    },
    takeUnread: () => living?.takeUnread() ?? null,
    living: async () => {
      current()
      const { createLivingCrew } = await import('./living-crew.ts')
      living ??= createLivingCrew({ ...deps, parent: current(), lost })
      return living
    },
  }
}
