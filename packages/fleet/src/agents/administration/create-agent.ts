import { agentIdSchema, spawnedPrefix } from '@flotilla/protocol/ids'
import { reservedAgentIds } from '@flotilla/protocol/reserved-ids'
import { limits } from '@flotilla/protocol/limits'
import type { McpServers } from '@flotilla/protocol/mcp-servers'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { Caller, Guard, PermissionGrants } from '@flotilla/identity/access'
import {
  actorOf,
  isAtTerminal,
  raisedPeriod,
  requireAtTerminal,
  requireProof,
} from '@flotilla/identity/access'
import { onceOnly } from '@flotilla/foundation/storage'
import type { Resumable } from '@flotilla/foundation/storage'
import type { AgentContext } from '../lifecycle/agent-context.ts'
import type { AgentBudget, AgentRecord } from '../registry/agent-record.ts'

/** The maximum number of agents of one fleet; a larger fleet would need more than one database. */
export const agentsMax = 1000

/**
 * Throws the Problem `unprocessable` with the usable models if the model's provider is not set up, and
 * `human-only` if this caller may not choose the model.
 */
export type RequireModel = (
  caller: Caller,
  request: { readonly agentId: string; readonly model: string },
) => void

export interface NewAgent {
  readonly id: string
  readonly role: string
  readonly instructions?: string | undefined
  readonly model?: string | undefined
  readonly budget?: AgentBudget | undefined
  readonly project?: string | undefined
  /** Interval of the agent's heartbeat; null or undefined for no heartbeat. */
  readonly heartbeat?: string | null | undefined
  readonly permissions?: Partial<PermissionRecord> | undefined
  readonly mcpServers?: McpServers | undefined
}

/** Returns the record of a new worker, with defaults for omitted fields. Pure. */
export function workerRecord(
  input: Pick<NewAgent, 'id' | 'role' | 'instructions' | 'model' | 'budget' | 'project'>,
  createdAt: number,
): AgentRecord {
  return {
    id: input.id,
    kind: 'worker',
    role: sanitizeForPrompt(input.role),
    model: input.model ?? null,
    instructions: sanitizeForPrompt(input.instructions ?? ''),
    budget: input.budget ?? defaultBudget,
    project: input.project ?? null,
    createdAt,
  }
}

/**
 * Creates an agent and returns its record. With `step`, a retry of the call is safe: the row of the agent and the
 * stored answer of the call are written in one transaction; a retry writes the permissions again.
 */
export type CreateAgent = (
  caller: Caller,
  input: NewAgent,
  step?: Resumable<AgentRecord>,
) => Promise<AgentRecord>

/**
 * Creates a worker, which is started when it gets work. Permission record and row are both written or neither.
 * Problems `denied`, `human-only`, `proof-wanted`, `reserved-agent-id`, `conflict`, `bad-request`, `unprocessable`.
 */
export function createAgent(deps: {
  readonly guard: Guard
  readonly grants: PermissionGrants
  readonly context: AgentContext
  readonly requireModel: RequireModel
}): CreateAgent {
  return async (caller, input, step) => {
    deps.guard(caller, { do: 'manage-fleet' })
    if (input.project !== undefined) deps.guard(caller, { do: 'manage-projects' })
    requireFreeId(input.id)
    if (input.model !== undefined) deps.requireModel(caller, { agentId: input.id, model: input.model })
    const mcpServers = input.mcpServers ?? {}
    if (Object.keys(mcpServers).length > 0) {
      requireAtTerminal(caller, 'give an agent MCP servers')
      requireProof(caller, 'give an agent MCP servers')
    }
    const overrides = input.permissions ?? {}
    const raised = raisedPeriod(defaultBudget, input.budget ?? defaultBudget)
    const above =
      deps.grants.aboveOperatorCeiling(overrides) ?? (raised && `${raised.field}: ${raised.reason}`)
    if (above !== null) {
      if (!isAtTerminal(caller)) throw new Problem('human-only', { detail: above })
      requireProof(caller, 'create an agent with more permissions than the operator can grant')
    }
    const record = workerRecord(input, deps.context.clock.now())
    const { agentPlanned, agentUnplanned } = deps.context.fleetEvents
    const plan = {
      // Stores the heartbeat before the agent's row, because a worker must never run with another heartbeat.
      make: () => agentPlanned.publish({ agentId: record.id, heartbeat: input.heartbeat }),
      drop: () => agentUnplanned.publish(record.id),
    }
    await addAgent(deps, { record, overrides, mcpServers, actor: actorOf(caller), step, plan })
    return record
  }
}

/**
 * The defaults of a new agent, which are also the maximum for every caller except a person at the terminal.
 */
export const defaultBudget: AgentBudget = {
  dailyUsd: limits.budgetDailyUsd.default,
  monthlyUsd: limits.budgetMonthlyUsd.default,
}

/** Writes the agent's row and permission record together, after earlier operations on the agent have ended. */
export function addAgent(
  deps: { readonly grants: PermissionGrants; readonly context: AgentContext },
  added: {
    readonly record: AgentRecord
    readonly overrides: Partial<PermissionRecord>
    readonly mcpServers?: McpServers
    readonly actor: string
    readonly step?: Resumable<AgentRecord> | undefined
    /** Writes a schedule entry before the agent's row (`make`), and removes the entry if the row fails (`drop`). */
    readonly plan?: { readonly make: () => Promise<void>; readonly drop: () => Promise<void> }
  },
): Promise<void> {
  const { context, grants } = deps
  const { record, step = onceOnly(context.database) } = added
  return context.mutex.take(record.id, async () => {
    // Rejects an existing id before permissions are written, so that the first agent keeps its permissions.
    requireRoom(context, record.id)
    try {
      const { overrides, actor } = added
      await grants.grantDefaults(record.id, { kind: record.kind, overrides, actor })
      await added.plan?.make()
      step.settle(() => {
        requireRoom(context, record.id)
        insertAgent(context, { ...added, record })
        return record
      })
    } catch (error) {
      await takeBack(context, record.id, [() => grants.revokeAll(record.id), added.plan?.drop])
      throw error
    }
    await context.briefings.refresh()
  })
}

/** Inserts the row of a worker or operator and audits its creation. Joins the caller's transaction. */
export function insertAgent(
  context: Pick<AgentContext, 'agents' | 'mcpServers' | 'journal' | 'events' | 'fleetEvents'>,
  {
    record,
    mcpServers,
    actor,
  }: { readonly record: AgentRecord; readonly mcpServers?: McpServers | undefined; readonly actor: string },
): void {
  context.agents.insert(record)
  if (record.project !== null) {
    context.fleetEvents.membershipChanged.publish({ agentId: record.id, project: record.project })
  }
  if (mcpServers) context.mcpServers.put(record.id, mcpServers)
  context.journal.append({
    actor,
    action: 'agent.created',
    subject: record.id,
    detail: {
      kind: record.kind,
      model: record.model,
      project: record.project,
      daily_usd: record.budget.dailyUsd,
      monthly_usd: record.budget.monthlyUsd,
      mcp_servers: Object.keys(mcpServers ?? {}),
    },
  })
  context.events.publish({ type: 'agent.created', agent_id: record.id, role: record.role })
}

async function takeBack(
  context: AgentContext,
  agentId: string,
  drops: readonly ((() => void | Promise<void>) | undefined)[],
): Promise<void> {
  for (const drop of drops) {
    try {
      await drop?.()
    } catch (error) {
      context.log.error(
        { agentId, err: error },
        'failed to create an agent and to remove its entries from the configuration; remove them by hand',
      )
    }
  }
}

export function requireFreeId(agentId: string): void {
  // An agent id that differs from `operator` only in case would look like the operator to people.
  if (reservedAgentIds.includes(agentId.toLowerCase())) throw new Problem('reserved-agent-id')
  if (agentId.toLowerCase().startsWith(spawnedPrefix)) {
    throw new Problem('reserved-agent-id', {
      detail: `ids that begin with ${spawnedPrefix} are reserved for agents that other agents spawn`,
    })
  }
  if (!agentIdSchema.safeParse(agentId).success) {
    throw new Problem('bad-request', {
      detail: 'an agent id is 1 to 64 of A-Z a-z 0-9 _ -, starting with a letter or digit',
    })
  }
}

export function requireRoom(context: AgentContext, agentId: string): void {
  if (context.agents.find(agentId)) {
    throw new Problem('conflict', {
      detail: `an agent with the id ${agentId} already exists`,
      repair: 'Choose another id; flotilla agents lists the agents that exist.',
    })
  }
  if (context.agents.count() >= agentsMax) {
    throw new Problem('unprocessable', {
      detail: `the fleet already has ${agentsMax} agents, the maximum; delete one with flotilla delete AGENT`,
    })
  }
}
