import type { AgentConnection, AgentConnections } from '../agents/index.ts'
import type { Kernel, MeshModule } from '../kernel/index.ts'
import type { DiskSpace } from '../storage/index.ts'
import { createChatSessions } from './delivery/chat-sessions.ts'
import type { ChatSessions } from './delivery/chat-sessions.ts'
import { runAgentRoutes } from './agent.routes.ts'
import { chatSessionRoutes } from './chat-sessions.routes.ts'
import { createHoldLease } from './hold-lease.ts'
import type { HoldLease } from './hold-lease.ts'
import { createLedger } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import type { RunTasks } from './lifecycle/run-tasks.ts'
import { createLookUpRuns } from './look-up-runs.ts'
import { runMetrics } from './run-metrics.ts'
import { runPeopleRoutes } from './people.routes.ts'

export type { HoldLease } from './hold-lease.ts'
export type { Ledger } from './ledger.ts'
export { awaitOutcome } from './delivery/tell-outcome.ts'
export type { RunOutcomes } from './delivery/tell-outcome.ts'
export type { RunRecord } from './lifecycle/run-record.ts'
export type { RunTasks, TellRun } from './lifecycle/run-tasks.ts'
export { defaultSession } from './conversation.ts'
export { originOf, requireTakesWork } from './submit-run.ts'
export type { LanePlace, SubmitRun } from './submit-run.ts'

export interface Runs extends Ledger {
  readonly holdLease: HoldLease
  readonly sessions: ChatSessions
}

/** The spine: whatever makes an agent act is a run. */
export function runsModule(
  kernel: Kernel,
  needs: {
    readonly agents: AgentConnections & {
      readonly requireWorking: (agentId: string, asker?: 'waits') => void
      readonly reach: (agentId: string, signal: AbortSignal) => Promise<AgentConnection>
    }
    readonly tasks: RunTasks
    readonly diskSpace: Pick<DiskSpace, 'require'>
  },
): MeshModule<Runs> {
  const { agents } = needs
  const stopped = new AbortController()
  const ledger = createLedger({
    ...kernel,
    ...needs,
    connections: agents,
    requireAgent: agents.requireWorking,
  })
  const lookUp = createLookUpRuns({ ...kernel, ledger })
  const sessions = createChatSessions({ ...kernel, ledger, agents })
  kernel.hooks.reasonsToStayAwake.subscribe((agentId) => {
    const { busy, queued } = ledger.laneOf(agentId)
    const isHeld = kernel.hooks.reasonsToPause.ask(agentId).length > 0
    return busy || (queued > 0 && !isHeld) ? ['it has work'] : []
  })
  kernel.hooks.sandboxGone.subscribe(({ agentId, reason }) => {
    // One that is being re-created is awaited by whoever re-creates it.
    if (reason !== 'restarted') ledger.agentGone(agentId)
  })
  return {
    api: {
      ...ledger,
      sessions,
      holdLease: createHoldLease({ ...kernel, stopped: stopped.signal, renew: ledger.lease.renew }),
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
