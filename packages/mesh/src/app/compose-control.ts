import { Problem } from '@flotilla/protocol/problem'
import { operatorStaysWords } from '../agents/registry/operator-stays.ts'
import type { JsonObject } from '@flotilla/protocol/json-value'
import type { NewId } from '@flotilla/protocol/ids'
import type { Clock } from '@flotilla/protocol/clock'
import * as z from 'zod'
import type { ApprovalKinds } from '../control/approvals/approval-kind.ts'
import { createApprovals } from '../control/approvals/approvals.ts'
import type { SetBudget } from '../spending/set-budget.ts'
import { createEdits } from '../control/edits/edits.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { AgentRecord } from '../agents/registry/agent-record.ts'
import type { RequireModel } from '../agents/registry/create-agent.ts'
import type { Fleet } from '../agents/fleet.ts'
import type { Journal } from '../journal/journal.ts'
import type { Log } from '../platform/log.ts'
import type { Guard } from '../access/action.ts'
import type { Caller } from '../access/caller.ts'
import type { DenialCounts } from '../access/denial-counts.ts'
import { createHoldCeiling, createRefuseAboveCeiling } from '../access/hold-ceiling.ts'
import type { PermissionStore } from '../access/permission-file.ts'
import type { Ledger } from '../runs/ledger.ts'
import { originOf } from '../runs/submit-run.ts'
import type { Database } from '../storage/database.ts'

/** What people and the operator change, and what waits for a person. */
export function composeControl(parts: {
  readonly database: Database
  readonly fleet: Fleet
  readonly ledger: Ledger
  readonly permissions: PermissionStore
  readonly setBudget: SetBudget
  readonly requireModel: RequireModel
  readonly denials: DenialCounts
  readonly guard: Guard
  readonly journal: Journal
  readonly events: EventBus
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
}) {
  const { ledger, fleet } = parts
  const approvals = createApprovals({
    ...parts,
    kinds: approvalKinds(fleet),
    tellRun: ledger.tellRun,
    originOf: (caller) => originOfWork(ledger, caller),
  })
  const holdCeiling = createHoldCeiling(parts)
  const edits = createEdits({
    ...parts,
    holdCeiling,
    setBudget: (caller, id, limits) => void parts.setBudget(caller, { scope: 'agent', id }, limits),
  })
  return {
    approvals,
    edits,
    holdCeiling,
    refuseAbove: createRefuseAboveCeiling(parts),
    /** What both keep of an agent that is deleted. */
    forget: (agentId: string): void => {
      approvals.forget(agentId)
      edits.forget(agentId)
    },
  }
}

export type Control = ReturnType<typeof composeControl>

/** Where the work came from, by the mesh's own row of the run; never by what an agent says. */
function originOfWork(ledger: Ledger, caller: Caller) {
  const run = caller.kind === 'agent' && caller.run ? ledger.find(caller.run.runId) : null
  return run?.origin ?? originOf(caller)
}

const deletedWords = (agentId: string): string => `Agent ${agentId} was deleted with its data.`

const deletionSchema = z.strictObject({
  agent_id: z.string(),
  /** Binds it to that very agent: one made anew under its id is another. */
  created_at: z.number(),
  reason: z.string(),
})

/** Each action that waits for a person. A room with another adds its row here. */
function approvalKinds(fleet: Fleet): ApprovalKinds {
  function meant(args: JsonObject): AgentRecord {
    const { agent_id: agentId, created_at: createdAt } = deletionSchema.parse(args)
    const record = fleet.find(agentId)
    if (!record) throw new Problem('unknown-agent', { detail: `there is no agent ${agentId}` })
    if (record.kind === 'operator') {
      throw new Problem('reserved-agent-id', {
        detail: 'the operator cannot be deleted',
        repair: operatorStaysWords,
      })
    }
    if (record.createdAt !== createdAt) {
      throw new Problem('conflict', {
        detail: `agent ${agentId} is not the one that was meant: it was made anew`,
      })
    }
    return record
  }

  return {
    'delete-agent': {
      action: (args) => ({ do: 'manage-agent', agentId: deletionSchema.parse(args).agent_id }),
      describe: (args) => {
        const { id, role, createdAt } = meant(args)
        const { reason } = deletionSchema.parse(args)
        return {
          subject: id,
          summary: `delete agent ${id}${reason === '' ? '' : `: ${reason}`}`,
          consequences: [
            `Agent ${id} (${role}), created ${new Date(createdAt).toISOString()}, is stopped and removed.`,
            'Everything below its /data is destroyed, and so are its saved artifacts.',
            'Its tokens and its permission record are gone; work in its queue ends as failed.',
            'Its costs and its journal stay.',
          ],
        }
      },
      carryOut: async (person, args) => {
        const { agent_id: agentId, created_at: createdAt } = deletionSchema.parse(args)
        await fleet.delete(person, agentId, { createdAt })
        return deletedWords(agentId)
      },
      ifCutOff: 'again',
      // The row goes last: where it is not there, or is another's, nothing of that agent is left.
      wasDone: (args) => {
        const { agent_id: agentId, created_at: createdAt } = deletionSchema.parse(args)
        return fleet.find(agentId)?.createdAt === createdAt ? null : deletedWords(agentId)
      },
    },
  }
}
