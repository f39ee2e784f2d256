import { createHash } from 'node:crypto'
import { undoWindowMs } from '@flotilla/protocol/agent-edit'
import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { AgentTurns } from '../fleet/agent-turns.ts'
import { journalValue } from './journal-value.ts'
import { actorOf } from '../policy/caller.ts'
import type { Caller } from '../policy/caller.ts'
import type { ChangeRow, ChangeTable } from './change-table.ts'
import type { Editable } from './editable.ts'
import type { EditsDeps } from './edits.ts'

export interface EditParts extends EditsDeps {
  readonly table: ChangeTable
  readonly turns: AgentTurns
  readonly editableOf: (field: AgentEdit['field']) => Editable
}

export interface AskedEdit {
  readonly edit: AgentEdit
  /** The same key of the same caller is the same change. */
  readonly idempotencyKey?: string
}

/**
 * Applies an edit at once. Problems `denied`, `human-only`, `unknown-agent`, `bad-request`, `conflict` for a key that
 * was used for something else, `unprocessable` while the permissions file is broken, and what reaching the agent meets.
 */
export type ApplyEdit = (caller: Caller, agentId: string, asked: AskedEdit) => Promise<ChangeRow>

export function createApplyEdit(parts: EditParts): ApplyEdit {
  const { table, clock } = parts
  return async (caller, agentId, { edit, idempotencyKey }) => {
    parts.guard(caller, { do: 'edit-agent-config', agentId })
    requireAgent(parts, agentId)
    return parts.turns.take(agentId, async () => {
      requireAgent(parts, agentId)
      const digest = digestOf(agentId, edit)
      const known = idempotencyKey === undefined ? null : table.findByKey(actorOf(caller), idempotencyKey)
      if (known) return sameChange(known, digest)
      const id = parts.newId('change')
      const at = clock.now()
      let begun = false
      try {
        const takesEffect = await parts.editableOf(edit.field).apply(caller, {
          agentId,
          edit,
          begin: (difference) => {
            begun = true
            table.begin({
              id,
              agent_id: agentId,
              field: edit.field,
              ...difference,
              actor: actorOf(caller),
              reason: sanitizeForPrompt(edit.reason),
              idempotency_key: idempotencyKey ?? null,
              digest,
              applied_at: at,
              expires_at: at + undoWindowMs(edit.field),
            })
          },
        })
        return finish(parts, { id, takesEffect, caller })
      } catch (error) {
        if (begun) table.failed(id)
        throw error
      } finally {
        if (begun) await parts.fleet.refreshBriefings()
      }
    })
  }
}

function requireAgent(parts: EditParts, agentId: string): void {
  if (!parts.fleet.find(agentId))
    throw new Problem('unknown-agent', { detail: 'there is no agent with this id' })
}

function finish(
  parts: EditParts,
  done: { readonly id: string; readonly takesEffect: 'now' | 'next-run'; readonly caller: Caller },
): ChangeRow {
  return parts.database.transaction(() => {
    parts.table.applied(done.id, done.takesEffect)
    const row = parts.table.find(done.id)
    if (!row) throw new Error('a change that was begun is a row')
    parts.journal.append({
      actor: actorOf(done.caller),
      action: 'agent.edited',
      subject: row.agent_id,
      detail: {
        field: row.field,
        change: row.id,
        before: journalValue(row.before, row.field),
        after: journalValue(row.after, row.field),
      },
    })
    parts.events.publish({
      type: 'agent.edited',
      agent_id: row.agent_id,
      field: row.field,
      actor: row.actor,
      undo_token: row.id,
    })
    return row
  })
}

function sameChange(known: ChangeRow, digest: string): ChangeRow {
  if (known.digest === digest) return known
  throw new Problem('conflict', { detail: 'this idempotency key was used for another edit' })
}

/** Of what was asked for, not of what was written, which may be another text or stand for several edits. */
function digestOf(agentId: string, edit: AgentEdit): string {
  return createHash('sha256').update(JSON.stringify({ agentId, edit })).digest('hex')
}
