import { isLive } from '@flotilla/protocol/agent-lifecycle'
import { Problem } from '@flotilla/protocol/problem'
import type { AgentConnection, AgentConnections } from '../connection/agent-connection.ts'
import { agentSize, sizeMark } from '../../sandbox/index.ts'
import type { AgentContext } from './agent-context.ts'
import { endSandbox } from './end-sandbox.ts'
import type { AgentRow } from '../registry/agent-table.ts'
import { isMisplaced } from './agent-placing.ts'
import { startIdLabel } from './agent-sandbox.ts'
import { hasOtherPrograms } from './program-setup.ts'
import type { AgentStarts } from './start-agent.ts'

/** Whether the mesh may run agents: while an isolation check fails, the fleet is paused. */
export interface Isolation {
  hold(): boolean
}

export interface Reach {
  /** Connects like `ensureRunning`, but for calls outside of runs: never replaces the sandbox of a running run. */
  reach(agentId: string, signal: AbortSignal): Promise<AgentConnection>
  /**
   * Returns the agent's state from the table without a request to the engine. `new` means never started: the agent
   * has no files yet.
   */
  stateOf(agentId: string): 'new' | 'stopped' | 'starting' | 'ready'
}

/** Connects callers to agents: starts an agent when needed, once for all concurrent callers. */
export function createAgentConnections(
  context: AgentContext,
  starts: AgentStarts,
  { isolation }: { readonly isolation: Isolation },
): AgentConnections & Reach {
  const noModel = async (agentId: string) =>
    new Problem('not-configured', {
      detail: `agent ${agentId} has no model: ${await context.settings.missingModel()}`,
    })

  const modelOf = (row: AgentRow) => row.record.model ?? context.settings.defaultModel()
  async function reach(
    agentId: string,
    {
      fresh,
      needsModel,
      signal,
    }: { readonly fresh: boolean; readonly needsModel: boolean; readonly signal: AbortSignal },
  ): Promise<AgentConnection> {
    const row = context.agents.require(agentId)
    if (!isolation.hold()) {
      throw new Problem('fleet-paused', { detail: 'an isolation check failed, so no agent is started' })
    }
    signal.throwIfAborted()
    refuseQuarantined(row, context.clock.now())
    const starting = fresh || !isLive(row.state.kind) || !context.sandboxes.addresses.has(agentId)
    if (
      needsModel &&
      modelOf(row) === null &&
      (starting || context.sandboxes.startedModels.get(agentId) === null)
    )
      throw await noModel(agentId)
    if (starting) {
      await unlessAborted(starts.start(agentId, { fresh }), { agentId, signal })
    }
    const address = context.sandboxes.addresses.get(agentId)
    if (!address)
      throw new Problem('agent-unavailable', {
        detail: `agent ${agentId} was stopped while the request waited for it`,
      })
    context.sandboxes.lastUsed.set(agentId, context.clock.now())
    context.fleetEvents.agentReached.publish(agentId)
    const connection = context.sandboxes.connect(agentId, address)
    await context.seedFiles.deliver(agentId, connection, signal)
    return connection
  }

  /**
   * Returns whether agent, size, packages, what its programs find, default model or isolation level changed so that the
   * sandbox must be re-created.
   */
  const isOutdated = (agentId: string): boolean => {
    const model = modelOf(context.agents.require(agentId))
    const startedWith = context.sandboxes.startedModels.get(agentId)
    return (
      context.sandboxes.outdated.has(agentId) ||
      (startedWith !== undefined && model !== null && startedWith !== model) ||
      hasOtherPrograms(context, agentId) ||
      hasOtherPackages(context, agentId) ||
      hasOtherSize(context, agentId) ||
      isMisplaced(context.sandboxes.placed.get(agentId), context.placing.wishOf(agentId))
    )
  }

  return {
    // Replaces an outdated sandbox only between two runs, so that a running run keeps its sandbox.
    ensureRunning: async (agentId, signal, work) => {
      const needsModel = work?.withoutModel !== true
      return reach(agentId, { fresh: isOutdated(agentId), needsModel, signal })
    },
    reach: (agentId, signal) => reach(agentId, { fresh: false, needsModel: false, signal }),
    stateOf: (agentId) => {
      const { state, startId } = context.agents.require(agentId)
      if (state.kind === 'starting') return 'starting'
      if (isLive(state.kind)) return 'ready'
      return startId === null ? 'new' : 'stopped'
    },
    connectIfRunning: async (agentId) => {
      const row = context.agents.find(agentId)
      if (row === null || !isLive(row.state.kind)) return null
      const sandbox = await context.runtime.inspect(agentId)
      if (!sandbox?.running || !sandbox.address || sandbox.labels[startIdLabel] !== row.startId) return null
      return context.sandboxes.connect(agentId, sandbox.address)
    },
    giveUp: async (agentId, reason) => {
      const row = context.agents.find(agentId)
      if (row === null) return
      context.log.warn(
        { agentId, reason },
        'terminated an agent whose run made no progress; restarting it after a delay',
      )
      await context.mutex.take(agentId, () =>
        endSandbox(context, row, { reason, action: 'agent.hung', gone: 'died' }),
      )
    },
  }
}

function hasOtherPackages({ sandboxes, packages }: AgentContext, agentId: string): boolean {
  const started = sandboxes.startedPackages.get(agentId)
  return started !== undefined && packages.isOutdated(agentId, started)
}

function hasOtherSize({ agents, sandboxes, settings }: AgentContext, agentId: string): boolean {
  const started = sandboxes.startedSizes.get(agentId)
  const { kind } = agents.require(agentId).record
  return started !== undefined && started !== sizeMark(kind, agentSize(kind, settings.sizeSettings(agentId)))
}

/** Throws the Problem `agent-quarantined` for an agent that only a trial start or a person may start. */
export function refuseQuarantined({ record, state }: AgentRow, now: number): void {
  if (state.kind !== 'quarantined') return
  throw new Problem('agent-quarantined', {
    detail: `agent ${record.id} stopped unexpectedly too often, the last time because: ${state.reason}`,
    repair: `The mesh starts the agent again every 20 minutes. To start it now: flotilla restart ${record.id}`,
    retryAfterSeconds: Math.max(1, Math.ceil((state.dueAt - now) / 1000)),
  })
}

/** Rejects for a caller that aborts; the start itself continues for the other callers that share it. */
function unlessAborted(
  work: Promise<void>,
  { agentId, signal }: { readonly agentId: string; readonly signal: AbortSignal },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(isLate(signal.reason) ? stillStarting(agentId) : signal.reason)
    signal.addEventListener('abort', giveUp, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })
}

const isLate = (reason: unknown): boolean => reason instanceof Error && reason.name === 'TimeoutError'

function stillStarting(agentId: string): Problem {
  return new Problem('agent-unavailable', {
    detail: `agent ${agentId} is still being started`,
    repair: 'Try again in a few seconds; flotilla status shows when the agent runs.',
  })
}
