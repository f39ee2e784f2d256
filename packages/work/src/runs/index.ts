import type { Agents } from '@flotilla/fleet/agents'
import type { MeshModule } from '@flotilla/identity/kernel'
import type { DiskSpace } from '@flotilla/foundation/storage'
import { createChatSessions } from './delivery/chat-sessions.ts'
import type { ChatSessions } from './delivery/chat-sessions.ts'
import { runAgentRoutes } from './agent.routes.ts'
import { chatSessionRoutes } from './chat-sessions.routes.ts'
import { createHoldLease } from './hold-lease.ts'
import type { HoldLease } from './hold-lease.ts'
import { createLedger } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import type { RunTasks } from './ledger/run-tasks.ts'
import { createLookUpRuns } from './look-up-runs.ts'
import { runMetrics } from './run-metrics.ts'
import { runPeopleRoutes } from './people.routes.ts'
import type { WorkKernel } from '../events/index.ts'

export type { HoldLease } from './hold-lease.ts'
export type { Ledger, RunQueries } from './ledger.ts'
export type { RunDelivery } from './delivery/run-delivery.ts'
export { awaitOutcome } from './delivery/deliver-outcome.ts'
export type { RunOutcomes } from './delivery/deliver-outcome.ts'
export type { RunLifecycle } from './dispatch/run-lifecycle.ts'
export type { RunCost, RunRecord } from './ledger/run-record.ts'
export type { RunTasks, NotifyRun } from './ledger/run-tasks.ts'
export type { RunQueue } from './dispatch/run-queue.ts'
export type { RunSteering } from './steering/steering.ts'
export { defaultSession } from './conversation.ts'
export { originOf, requireTakesWork } from './submit-run.ts'
export { runLimits } from './run-limits.ts'
export type { LanePlace, SubmitRun } from './submit-run.ts'

export interface Runs extends Ledger {
  readonly holdLease: HoldLease
  readonly sessions: ChatSessions
}

/** Creates the run ledger: everything that makes an agent act is a run. */
export function runsModule(
  kernel: WorkKernel,
  needs: {
    readonly agents: Pick<Agents, 'registry' | 'connection'>
    readonly tasks: RunTasks
    readonly diskSpace: Pick<DiskSpace, 'require'>
  },
): MeshModule<Runs> {
  const { registry, connection } = needs.agents
  const stopped = new AbortController()
  const ledger = createLedger({
    ...kernel,
    ...needs,
    connections: connection,
    requireAgent: registry.requireWorking,
  })
  const { queries, queue, lifecycle } = ledger
  const lookUp = createLookUpRuns({ ...kernel, queries })
  const sessions = createChatSessions({ ...kernel, queries, agents: { ...registry, ...connection } })
  kernel.fleetEvents.reasonsToStayAwake.subscribe((agentId) => {
    const { busy, queued } = queue.laneOf(agentId)
    const isHeld = kernel.workEvents.reasonsToPause.ask(agentId).length > 0
    return busy || (queued > 0 && !isHeld) ? ['the agent has unfinished runs'] : []
  })
  kernel.fleetEvents.sandboxGone.subscribe(({ agentId, reason }) => {
    // After a restart no check is needed: the code that re-creates the sandbox waits for the new sandbox.
    if (reason !== 'restarted') lifecycle.agentGone(agentId)
  })
  return {
    api: {
      ...ledger,
      sessions,
      holdLease: createHoldLease({ ...kernel, stopped: stopped.signal, renew: lifecycle.lease.renew }),
    },
    routes: {
      people: (surface) => {
        runPeopleRoutes(surface, { ledger, lookUp })
        chatSessionRoutes(surface, sessions)
      },
      agent: (surface) => runAgentRoutes(surface, ledger),
    },
    metrics: () => runMetrics(ledger),
    begin: ledger.start,
    stop: ledger.close,
    close: () => stopped.abort(new Error('the mesh stops')),
  }
}
