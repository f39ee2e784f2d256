import { spawnLimits } from '@flotilla/protocol/limits'
import type { PermissionRecord } from '@flotilla/protocol/permission-record'
import { Problem } from '@flotilla/protocol/problem'
import type { spawnApi } from '@flotilla/protocol/spawn-api'
import type * as z from 'zod'
import type { Caller } from '@flotilla/identity/access'
import { actorOf, readFields } from '@flotilla/identity/access'
import type { AgentAdmin, AgentRecord, AgentRegistry } from '@flotilla/fleet/agents'
import type { Kernel } from '@flotilla/identity/kernel'
import type { RunLifecycle } from '../runs/index.ts'
import type { Resumable } from '@flotilla/foundation/storage'
import type { Tasks } from '../tasks/index.ts'
import { childRecord, withheldFields } from './child-record.ts'
import { depthBelow, endOfLife, whyBusy } from './spawn-bounds.ts'
import type { SpawnedAgent, SpawnedTable } from './spawned-table.ts'
import type { FleetEvents } from '@flotilla/fleet/events'

export type SpawnFields = z.output<(typeof spawnApi)['spawn']['request']>
export type SpawnReply = z.output<(typeof spawnApi)['spawn']['response']>

/** Maximum length of a task's title, which is the beginning of its text, characters. */
const titleMaxChars = 200

/**
 * Spawns an agent for one task of the calling run and returns at once; the run is notified of the task's end as for
 * any task that it handed off. Problems: `denied`, `stale-fence`, `spawn-refused` for too many agents or levels,
 * `bad-request` for unknown permissions, and those of `submitRun`.
 * 1. The row is written first, and the limits are checked in its transaction, so that concurrent calls cannot exceed
 * the limits.
 * 2. Agent, task and answer are created in one transaction.
 * 3. The agent may do at most what its parent may do, now and at every later time (`withinParent`), spends its
 * parent's money, and lives no longer than a parent that was spawned itself.
 */
export type SpawnAgent = (
  caller: Caller,
  request: SpawnFields,
  step: Resumable<SpawnReply>,
) => Promise<SpawnReply>

export interface SpawnDeps extends Pick<
  Kernel,
  'database' | 'clock' | 'newId' | 'guard' | 'journal' | 'events' | 'settings'
> {
  readonly table: SpawnedTable
  readonly agents: Pick<AgentRegistry, 'find' | 'setProject'> & Pick<AgentAdmin, 'shortLived'>
  readonly fleetEvents: Pick<FleetEvents, 'membershipChanged'>
  readonly permissionsOf: (agentId: string) => PermissionRecord | null
  readonly runs: Pick<RunLifecycle, 'live'>
  readonly giveTask: Tasks['giveTask']
  /** Wakes the loop that ends agents. */
  readonly ring: () => void
}

export function createSpawnAgent(deps: SpawnDeps): SpawnAgent {
  const { database, table, agents } = deps
  return async (caller, request, step) => {
    deps.guard(caller, { do: 'spawn-agent' })
    if (caller.kind !== 'agent' || !caller.run) {
      throw new Problem('stale-fence', { detail: 'only a run that is in progress may spawn an agent' })
    }
    deps.runs.live.ticketOf(caller.run.runId, caller.run.fence)
    const parent = agents.find(caller.agentId)
    const record = deps.permissionsOf(caller.agentId)
    if (parent === null || record === null) throw new Problem('denied')
    const fields = readFields(request.permissions)
    const row = database.transaction(() => reserve(deps, caller.agentId, request.ttl))
    const { agentId } = row
    try {
      const requested = { parent: record, fields, maySpawn: row.depth < spawnLimits.depthMax }
      const permissions = childRecord(requested)
      const withheld = withheldFields(requested, permissions)
      const made = {
        id: agentId,
        role: request.role,
        instructions: request.system_prompt,
        model: parent.model,
        project: parent.project,
        // Shown in the agent's bootstrap files. The agent's limit is the cap of its run, within its parent's budgets.
        budget: { dailyUsd: request.budget_usd, monthlyUsd: request.budget_usd },
        permissions,
        actor: actorOf(caller),
      }
      return await makeWith(deps, made, (write) =>
        step.settle(() => database.transaction(() => begin(deps, { caller, request, row, withheld, write }))),
      )
    } catch (error) {
      table.ends(agentId, 'the agent could not be created')
      deps.ring()
      throw error
    }
  }
}

/** Runs in a transaction. */
function reserve(
  { table, clock, newId, settings }: SpawnDeps,
  parentId: string,
  ttlSeconds: number,
): SpawnedAgent {
  const above = table.find(parentId)
  const why = whyBusy({
    parentId,
    parent: above,
    ofParent: table.countOf(parentId),
    ofFleet: table.count(),
    bounds: settings().spawning,
  })
  if (why !== null) throw new Problem('spawn-refused', { detail: why })
  const createdAt = clock.now()
  const row: SpawnedAgent = {
    agentId: newId('spawn'),
    parentId,
    depth: depthBelow(above),
    runId: null,
    taskId: null,
    state: 'making',
    reason: '',
    createdAt,
    endsAt: endOfLife(above, { createdAt, ttlSeconds }),
  }
  table.insert(row)
  return row
}

/** Writes the agent's row, its task and their audit entries, in the transaction of the answer. */
function begin(
  deps: SpawnDeps,
  {
    caller,
    request,
    row,
    withheld,
    write,
  }: {
    readonly caller: Caller
    readonly request: SpawnFields
    readonly row: SpawnedAgent
    readonly withheld: NonNullable<SpawnReply['withheld']>
    readonly write: () => AgentRecord
  },
): SpawnReply {
  const { agentId, parentId, endsAt } = row
  write()
  // The parent may have been moved to another project during the creation.
  const project = deps.agents.find(parentId)?.project ?? null
  if (deps.agents.find(agentId)?.project !== project) {
    deps.agents.setProject(agentId, project)
    deps.fleetEvents.membershipChanged.publish({ agentId, project })
  }
  const given = deps.giveTask(caller, {
    to: agentId,
    title: titleOf(request),
    description: request.task,
    data: {},
    tokenBudget: { max_tokens: null, max_cost_usd: request.budget_usd },
    spawned: true,
  })
  if (given.run_id === null) throw new Error('the lane of a new agent has room, and its task needs no other')
  deps.table.lives(agentId, { runId: given.run_id, taskId: given.task_id })
  deps.journal.append({
    actor: actorOf(caller),
    action: 'agent.spawned',
    subject: agentId,
    detail: {
      parent: parentId,
      depth: row.depth,
      ends_at: endsAt,
      budget_usd: request.budget_usd,
      task: given.task_id,
    },
  })
  deps.events.publish({ type: 'agent.spawned', agent_id: agentId, parent_id: parentId, ends_at: endsAt })
  deps.database.afterCommit(deps.ring)
  return {
    agent_id: agentId,
    task_id: given.task_id,
    run_id: given.run_id,
    ends_at: endsAt,
    ...(withheld.length === 0 ? {} : { withheld }),
  }
}

/** Creates the agent. `settle` gets the function that writes the agent's row, for one transaction with the answer. */
async function makeWith(
  { agents }: Pick<SpawnDeps, 'agents'>,
  made: Parameters<AgentAdmin['shortLived']['make']>[0],
  settle: (write: () => AgentRecord) => SpawnReply,
): Promise<SpawnReply> {
  const replies: SpawnReply[] = []
  await agents.shortLived.make(made, {
    begun: null,
    begin: () => {},
    settle: (write) => {
      const records: AgentRecord[] = []
      replies.push(
        settle(() => {
          const record = write()
          records.push(record)
          return record
        }),
      )
      const [record] = records
      if (record === undefined) throw new Error('the row of an agent is written with its answer')
      return record
    },
  })
  const [reply] = replies
  if (reply === undefined) throw new Error('an agent that was made is answered with')
  return reply
}

function titleOf({ role, task }: SpawnFields): string {
  const line = task.split('\n')[0]?.trim() ?? ''
  return `${role}: ${line}`.slice(0, titleMaxChars)
}
