import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import type { AgentAdmin, AgentRecord, AgentRegistry } from '@flotilla/fleet/agents'
import { operatorStaysWords } from '@flotilla/fleet/agents'
import type { ApprovalKinds } from '@flotilla/work/approvals'

const deletedWords = (agentId: string): string => `Agent ${agentId} was deleted with its data.`

/** `2026-11-27 08:13 UTC`. */
const minuteOf = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`

const deletionSchema = z.strictObject({
  agent_id: z.string(),
  /** Binds the approval to that agent and excludes one that was re-created under its id. */
  created_at: z.number(),
  reason: z.string(),
})

/** Returns the kinds of actions that wait for a person's approval. */
export function approvalKinds(
  agents: Pick<AgentRegistry, 'find' | 'require'> & Pick<AgentAdmin, 'delete'>,
): ApprovalKinds {
  function meant(args: JsonObject): AgentRecord {
    const { agent_id: agentId, created_at: createdAt } = deletionSchema.parse(args)
    const record = agents.require(agentId)
    if (record.kind === 'operator') {
      throw new Problem('reserved-agent-id', {
        detail: 'the operator cannot be deleted',
        repair: operatorStaysWords,
      })
    }
    if (record.createdAt !== createdAt) {
      throw new Problem('conflict', {
        detail: `agent ${agentId} was deleted and created again since the request; request the deletion again`,
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
            `Agent ${id} (${role.replace(/\.$/, '')}), created ${minuteOf(createdAt)}, is stopped and removed.`,
            'All its files below /data and its saved artifacts are deleted permanently.',
            'Its tokens and its permission record are deleted; its queued runs end as failed.',
            'Its costs and its rows in the audit log are kept.',
          ],
          price: 'Deleting the agent calls no model and costs nothing.',
        }
      },
      carryOut: async (person, args) => {
        const { agent_id: agentId, created_at: createdAt } = deletionSchema.parse(args)
        await agents.delete(person, agentId, { createdAt })
        return deletedWords(agentId)
      },
      ifCutOff: 'again',
      // The agent's row is deleted last: if the row is missing or of a newer agent, the deletion is complete.
      wasDone: (args) => {
        const { agent_id: agentId, created_at: createdAt } = deletionSchema.parse(args)
        return agents.find(agentId)?.createdAt === createdAt ? null : deletedWords(agentId)
      },
    },
  }
}
