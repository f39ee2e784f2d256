import type { RunSettledHandler, TellRun } from '../lifecycle/run-tasks.ts'
import { createDeliverSteers } from './deliver-steers.ts'
import type { DeliverSteersDeps } from './deliver-steers.ts'
import { createBecomeRun, createReleaseSteers } from './release-steers.ts'
import type { BecomeRunDeps, ReleaseSteers, ReleaseSteersDeps } from './release-steers.ts'
import { createSteerRun } from './steer-run.ts'
import type { SteerRun, SteerRunDeps } from './steer-run.ts'
import type { SteerTable } from './steer-table.ts'
import { createTakeSteers } from './take-steers.ts'
import type { TakeSteers } from './take-steers.ts'

/** All that is said to agents at work, from its row to its end as part of that work or as a run of its own. */
export interface Steering {
  readonly steerRun: SteerRun
  readonly takeSteers: TakeSteers
  readonly release: ReleaseSteers
  readonly tellSteerer: RunSettledHandler
  /** Stops bringing; the rows stay. */
  close(): Promise<void>
}

export function createSteering(
  deps: Omit<SteerRunDeps, 'become' | 'deliver'> &
    BecomeRunDeps &
    ReleaseSteersDeps &
    DeliverSteersDeps & { readonly tellRun: TellRun },
): Steering {
  const become = createBecomeRun(deps)
  const delivery = createDeliverSteers(deps)
  return {
    steerRun: createSteerRun({ ...deps, become, deliver: delivery.deliver }),
    takeSteers: createTakeSteers(deps),
    release: createReleaseSteers({ ...deps, become }),
    tellSteerer: createTellSteerer(deps),
    close: delivery.close,
  }
}

/**
 * An agent that steered too late is told the answer as news of its own run (R5): the run that its words became is not
 * a task, and nothing else would bring it back.
 */
function createTellSteerer({
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
