import type { RunChanges } from '../ledger/change-run.ts'
import type { RunRecord } from '../ledger/run-record.ts'
import type { NotifyRun } from '../ledger/run-tasks.ts'
import { createDeliverSteers } from './deliver-steers.ts'
import type { DeliverSteersDeps } from './deliver-steers.ts'
import { createBecomeRun, createReleaseSteers } from './release-steers.ts'
import type { BecomeRunDeps, ReleaseSteers, ReleaseSteersDeps } from './release-steers.ts'
import { createSteerRun } from './steer-run.ts'
import type { SteerRun, SteerRunDeps } from './steer-run.ts'
import type { SteerTable } from './steer-table.ts'
import { createTakeSteers } from './take-steers.ts'
import type { TakeSteers } from './take-steers.ts'

/** Messages to agents at work. */
export interface RunSteering {
  readonly steerRun: SteerRun
  readonly takeSteers: TakeSteers
}

/** All functions of steering, from the arrival of a steer until it is read or becomes a run. */
export interface Steering extends RunSteering {
  readonly release: ReleaseSteers
  /** Stops delivery; the rows stay. */
  close(): Promise<void>
}

/** Subscribes to settled runs: their unread steers become runs, and agents that steered too late get the answer. */
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
 * Sends the answer to an agent that steered too late, as a note to its run (R5). The run that the steer became
 * belongs to no task, so nothing else would deliver its answer.
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
