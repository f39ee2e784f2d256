import { isLive } from '@flotilla/protocol/agent-lifecycle'
import { storageFaultOf } from '@flotilla/foundation/storage'
import type { Guard, PermissionGrants } from '@flotilla/identity/access'
import { deleteInTurn } from './delete-agent.ts'
import type { AgentContext } from '../lifecycle/agent-context.ts'
import type { Isolation } from '../lifecycle/ensure-running.ts'
import { watchHealth } from '../lifecycle/health.ts'
import { createHibernate } from '../lifecycle/hibernate.ts'
import { hibernateAgent } from '../lifecycle/hibernate-agent.ts'
import type { HibernateAgent } from '../lifecycle/hibernate-agent.ts'
import type { DataMeter } from '../lifecycle/meter-data.ts'
import { reconcileFleet } from '../lifecycle/reconcile-fleet.ts'
import type { ReconcileReport } from '../lifecycle/reconcile-fleet.ts'
import { createRemoveOrphans } from '../lifecycle/remove-orphans.ts'
import { restartAgent } from '../lifecycle/restart-agent.ts'
import type { RestartAgent } from '../lifecycle/restart-agent.ts'
import type { AgentStarts } from '../lifecycle/start-agent.ts'
import { stopAgent, stopGraceMs } from '../lifecycle/stop-agent.ts'
import type { StopAgent } from '../lifecycle/stop-agent.ts'
import { lifecycleLimits } from '../lifecycle/lifecycle-limits.ts'
import { forgiveLosses } from '../lifecycle/lose-sandbox.ts'
import type { RunState } from '@flotilla/protocol/run'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { addAgent, defaultBudget } from './create-agent.ts'

/** Starts, stops and monitors the agents of the fleet. */
export interface FleetLifecycle {
  /** Reconciles agents and sandboxes. Call it first, once the runtime is prepared and the agent API has its port. */
  reconcile(): Promise<ReconcileReport>
  ensureOperator(): Promise<void>
  /** Returns the model of the agent's sandbox; after a change, the previous one until the sandbox is re-created. */
  modelInUse(agentId: string): string | null
  readonly restart: RestartAgent
  readonly stop: StopAgent
  readonly hibernate: HibernateAgent
  /**
   * Called in the transaction that settles a run. Notes that the agent was in use; a completed run also shows that
   * the agent works.
   */
  runSettled(run: { readonly agentId: string; readonly state: RunState }): void
  /**
   * Stops all sandboxes when the mesh ends. A sandbox that does not stop in time continues; the next mesh adopts it.
   */
  stopAll(reason: string): Promise<void>
  /** Checks the health of every agent now; `run` does so every 30 s. */
  sweep(): Promise<void>
  /** Maintains health and bootstrap files until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** Aborts starts and closes connections. Running sandboxes continue. */
  close(): Promise<void>
}

export function createFleetLifecycle(deps: {
  readonly context: AgentContext
  readonly starts: AgentStarts
  readonly meter: DataMeter
  readonly isolation: Isolation
  readonly guard: Guard
  readonly grants: PermissionGrants
}): FleetLifecycle {
  const { context, starts } = deps
  const hibernate = createHibernate(context)
  const health = watchHealth(context, starts, {
    ...deps,
    finishDeletion: (agentId) => deleteInTurn(deps, agentId, 'system'),
    hibernateIdle: hibernate.idle,
    removeOrphans: createRemoveOrphans(context),
  })
  const unsubscribe = context.runtime.onEngineBack(health.tryAll)
  const stop = stopAgent(context, starts)
  return {
    reconcile: () => reconcileFleet(context),
    ensureOperator: () => ensureOperator(deps),
    modelInUse: (agentId) => modelInUse(context, agentId),
    restart: restartAgent(deps),
    stop,
    hibernate: hibernateAgent({ ...deps, hibernate: hibernate.now }),
    runSettled: ({ agentId, state }) => {
      context.sandboxes.lastUsed.set(agentId, context.clock.now())
      // Earlier losses of a healthy agent no longer count.
      if (state === 'done') forgiveLosses(context, agentId)
    },
    stopAll: (reason) => stopAll(context, (agentId) => stop(agentId, reason)),
    sweep: () => health.sweep(),
    run: async (signal) => {
      await Promise.all([health.run(signal), context.briefings.run(signal)])
    },
    close: async () => {
      health.close()
      unsubscribe()
      starts.breakOffAll('the mesh stops')
      if (!(await context.mutex.settled(lifecycleLimits.shutdownMs))) {
        context.log.error(
          {},
          'changes of agents were still in progress at shutdown; the next start reconciles them',
        )
      }
      context.sandboxes.links.close()
    },
  }
}

function modelInUse({ agents, sandboxes }: AgentContext, agentId: string): string | null {
  const row = agents.find(agentId)
  // A running run keeps the model with which it began, even if the owner has chosen another model since.
  const started = row && isLive(row.state.kind) ? sandboxes.startedModels.get(agentId) : null
  return sandboxes.outdated.get(agentId) ?? row?.record.model ?? started ?? null
}

async function stopAll(context: AgentContext, stop: (agentId: string) => Promise<void>): Promise<void> {
  const mayRun = context.agents
    .list()
    .filter(({ state }) => isLive(state.kind) || state.kind === 'starting' || state.kind === 'stopping')
  const late = new AbortController()
  const deadline = context.clock.sleep(lifecycleLimits.shutdownMs, late.signal).then(
    () =>
      context.log.error(
        {},
        'failed to stop agents within the shutdown limit; the next start adopts or stops them',
      ),
    () => {},
  )
  const stops = mayRun.map(async ({ record }) => {
    try {
      await stopAnyway(context, record.id, stop)
    } catch (error) {
      context.log.warn(
        { agentId: record.id, err: error },
        'failed to stop an agent; the next start adopts or stops it',
      )
    }
  })
  await Promise.race([Promise.all(stops), deadline])
  late.abort()
}

/** Stops an agent even if the disk takes no writes, although its intended state is normally stored before a stop. */
async function stopAnyway(
  { runtime, log }: AgentContext,
  agentId: string,
  stop: (agentId: string) => Promise<void>,
): Promise<void> {
  try {
    await stop(agentId)
  } catch (error) {
    if (storageFaultOf(error) === null) throw error
    log.warn({ agentId, err: error }, 'failed to store that an agent is stopped; stopping its sandbox anyway')
    await runtime.stop(agentId, { graceMs: stopGraceMs })
  }
}

const operatorRole =
  'Talks with the owner, gives work to the workers whose role fits, and answers with their results.'

const operatorInstructions = `# Instructions

- Answer in the language of the person who asks, short and exact.
- Before giving work away, make sure that you know what a good result looks like; ask the person when you cannot tell.
- Never state a figure, a name or a fact about files that did not come from a tool or from a worker's result.
- When something failed, say what failed and what can be done next.
`

/** Creates the reserved operator if this home has none; an existing operator keeps the owner's changes. */
async function ensureOperator(deps: {
  readonly grants: PermissionGrants
  readonly context: AgentContext
}): Promise<void> {
  const { context } = deps
  if (context.agents.find(operatorAgentId)) return
  await addAgent(deps, {
    record: {
      id: operatorAgentId,
      kind: 'operator',
      role: operatorRole,
      model: null,
      instructions: operatorInstructions,
      budget: defaultBudget,
      project: null,
      createdAt: context.clock.now(),
    },
    overrides: {},
    actor: 'system',
  })
  context.log.info({ agentId: operatorAgentId }, 'created the operator, because the fleet had none')
}
