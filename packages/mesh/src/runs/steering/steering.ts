import type { RunChanges } from '../lifecycle/change-run.ts'
import type { RunRecord } from '../lifecycle/run-record.ts'
import type { NotifyRun } from '../lifecycle/run-tasks.ts'
import { createDeliverSteers } from './deliver-steers.ts'
import type { DeliverSteersDeps } from './deliver-steers.ts'
import { createBecomeRun, createReleaseSteers } from './release-steers.ts'
import type { BecomeRunDeps, ReleaseSteers, ReleaseSteersDeps } from './release-steers.ts'
import { createSteerRun } from './steer-run.ts'
import type { SteerRun, SteerRunDeps } from './steer-run.ts'
import type { SteerTable } from './steer-table.ts'
import { createTakeSteers } from './take-steers.ts'
import type { TakeSteers } from './take-steers.ts'

/** What is said to agents at work. */
export interface RunSteering {
  readonly steerRun: SteerRun
  readonly takeSteers: TakeSteers
}

/** All of it, from its row to its end as part of that work or as a run of its own. */
export interface Steering extends RunSteering {
  readonly release: ReleaseSteers
  /** Stops bringing; the rows stay. */
  close(): Promise<void>
}

/** Hears of each run that is settled: what it had not read yet becomes a run, and whoever steered too late is answered. */
export function createSteering(
  deps: Omit<SteerRunDeps, 'become' | 'deliver'> &
    BecomeRunDeps &
    Omit<ReleaseSteersDeps, 'settle'> &
    DeliverSteersDeps & {
      readonly notifyRun: NotifyRun
      readonly changes: Pick<RunChanges, 'settle' | 'settled'>
    },
): Steering {
  const become = createBecomeRun(deps)
  const delivery = createDeliverSteers(deps)
  const release = createReleaseSteers({ ...deps, settle: deps.changes.settle, become })
  deps.changes.settled.subscribe(release)
  deps.changes.settled.subscribe(createTellSteerer(deps))
  return {
    steerRun: createSteerRun({ ...deps, become, deliver: delivery.deliver }),
    takeSteers: createTakeSteers(deps),
    release,
    close: delivery.close,
  }
}

/**
 * An agent that steered too late is told the answer as news of its own run (R5): the run that its words became is not
 * a task, and nothing else would bring it back.
 */
function createTellSteerer({
  steers,
  notifyRun,
}: {
  readonly steers: SteerTable
  readonly notifyRun: NotifyRun
}): (run: RunRecord) => void {
  return (run) => {
    const steer = run.parentId === null ? null : steers.whatBecame(run.id)
    if (!steer || steer.parentRunId === null || !run.outcome) return
    const { status: state, text } = run.outcome
    const note = { kind: 'steer-answer', agent: run.agentId, said: steer.text, state, text } as const
    notifyRun(steer.parentRunId, `steer:${steer.id}`, note)
  }
}
