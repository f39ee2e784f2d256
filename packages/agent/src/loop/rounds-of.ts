import type { RunContext } from './run-context.ts'
import type { RoundsDeps } from './run-rounds.ts'

type OwnOfEachKind =
  | 'systemPrompt'
  | 'bounds'
  | 'spending'
  | 'taskId'
  | 'beginning'
  | 'remindsOfTask'
  | 'emptyRetriesMax'

/** What runs of every kind give the loop alike; a kind adds only what is its own. */
export function roundsOf(context: RunContext): Omit<RoundsDeps, OwnOfEachKind> {
  const { checkpoints, hooks, model, mesh, tools, crew, learnings, images, clock } = context
  return {
    model,
    context: context.context,
    mesh,
    tools,
    crew,
    learnings,
    images,
    clock,
    saveCheckpoint: (state) => checkpoints.save(state),
    ...hooks,
  }
}
