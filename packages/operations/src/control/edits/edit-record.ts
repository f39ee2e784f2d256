import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import * as z from 'zod'
import type {
  AgentAdmin,
  AgentBudget,
  AgentRecord,
  AgentRegistry,
  RequireModel,
} from '@flotilla/fleet/agents'
import { isAtTerminal } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import { sameJson } from './change-table.ts'
import type { Difference, Editable, TakesEffect, WriteRows } from './editable.ts'
import { undoConflict } from './undo-conflict.ts'

type Edit<Field extends AgentEdit['field']> = Extract<AgentEdit, { field: Field }>
type RecordFleet = Pick<AgentRegistry, 'require'> & Pick<AgentAdmin, 'change'>

/** The spending module sets budgets: it knows the ranges and releases reservations under the old limits. */
export type SetAgentBudget = (
  caller: Caller,
  agentId: string,
  limits: { readonly daily_usd?: number | undefined; readonly monthly_usd?: number | undefined },
) => void

/** Fields of an agent's row: read and written in one go, so that nothing can come in between. */
export interface RecordEditables {
  readonly role: Editable<Edit<'role'>>
  readonly model: Editable<Edit<'model'>>
  readonly budget: Editable<Edit<'budget'>>
}

const budgetSchema = z.strictObject({ daily_usd: z.number(), monthly_usd: z.number() })

export function editRecord(deps: {
  readonly fleet: RecordFleet
  readonly setBudget: SetAgentBudget
  readonly requireModel: RequireModel
}): RecordEditables {
  const { fleet, setBudget } = deps
  return {
    role: {
      apply: async (_caller, { agentId, edit, begin }) => {
        const role = sanitizeForPrompt(edit.value).trim()
        if (role === '')
          throw new Problem('bad-request', {
            detail: 'the role of an agent needs at least one visible character',
          })
        begin({ before: fleet.require(agentId).role, after: role })
        return () => fleet.change(agentId, { role }).takesEffect
      },
      putBack: async (_caller, change) =>
        putBack(fleet, change, {
          read: (record) => record.role,
          write: (value) => fleet.change(change.agentId, { role: z.string().parse(value) }).takesEffect,
        }),
    },
    model: {
      apply: async (caller, { agentId, edit, begin }) => {
        if (edit.value !== null) deps.requireModel(caller, { agentId, model: edit.value })
        begin({ before: fleet.require(agentId).model, after: edit.value })
        return () => fleet.change(agentId, { model: edit.value }).takesEffect
      },
      putBack: async (caller, change) => {
        const earlier = z.string().nullable().parse(change.before)
        // The ceiling holds for the earlier value as for a new one; a person may always undo.
        if (earlier !== null && !isAtTerminal(caller))
          deps.requireModel(caller, { agentId: change.agentId, model: earlier })
        return putBack(fleet, change, {
          read: (record) => record.model,
          write: () => fleet.change(change.agentId, { model: earlier }).takesEffect,
        })
      },
    },
    budget: {
      apply: async (caller, { agentId, edit, begin }) => {
        const before = budgetOf(fleet.require(agentId).budget)
        const { daily_usd = before.daily_usd, monthly_usd = before.monthly_usd } = edit.value
        begin({ before, after: { daily_usd, monthly_usd } })
        return () => {
          setBudget(caller, agentId, edit.value)
          return 'now'
        }
      },
      putBack: async (caller, change) =>
        putBack(fleet, change, {
          read: (record) => budgetOf(record.budget),
          write: (value) => {
            setBudget(caller, change.agentId, budgetSchema.parse(value))
            return 'now'
          },
        }),
    },
  }
}

function putBack(
  fleet: RecordFleet,
  difference: Difference & { readonly agentId: string },
  field: {
    readonly read: (record: AgentRecord) => Difference['before']
    readonly write: (value: Difference['before']) => TakesEffect
  },
): WriteRows {
  const { before, after } = difference
  return () => {
    const now = field.read(fleet.require(difference.agentId))
    if (!sameJson(now, after)) throw undoConflict(now, after)
    return field.write(before)
  }
}

function budgetOf({ dailyUsd, monthlyUsd }: AgentBudget) {
  return { daily_usd: dailyUsd, monthly_usd: monthlyUsd }
}
