import type { RunSettledHandler, TellRun } from '../lifecycle/run-tasks.ts'
import type { SteerTable } from './steer-table.ts'

/**
 * An agent that steered too late is told the answer as news of its own run (R5): the run that its words became is not
 * a task, and nothing else would bring it back.
 */
export function createTellSteerer({
  steers,
  tellRun,
}: {
  readonly steers: SteerTable
  readonly tellRun: TellRun
}): RunSettledHandler {
  return (run) => {
    const steer = run.parentId === null ? null : steers.whatBecame(run.id)
    if (!steer || steer.parentRunId === null || !run.outcome) return
    const { status: state, text } = run.outcome
    const note = { kind: 'steer-answer', agent: run.agentId, said: steer.text, state, text } as const
    tellRun(steer.parentRunId, `steer:${steer.id}`, note)
  }
}
