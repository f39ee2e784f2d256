import { createHash } from 'node:crypto'
import { undoWindowMs } from '@flotilla/protocol/agent-edit'
import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { journalValue } from './journal-value.ts'
import { actorOf } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import { onceOnly } from '@flotilla/foundation/storage'
import type { Resumable } from '@flotilla/foundation/storage'
import { sameJson } from './change-table.ts'
import type { ChangeRow } from './change-table.ts'
import { ownersPart } from './editable.ts'
import type { Difference } from './editable.ts'
import type { EditParts } from './edit-deps.ts'
import { holdPage } from './hold-page.ts'

export interface EditRequest {
  readonly edit: AgentEdit
  /** A repeated call of the same caller with the same key returns the change of the first call. */
  readonly idempotencyKey?: string
  /** Writes the answer in the transaction of the change's row. */
  readonly step?: Resumable<ChangeRow>
}

/**
 * Applies an edit at once. Problems `denied`, `human-only`, `proof-wanted`, `unknown-agent`, `bad-request`,
 * `edit-overtaken`, `conflict` for a reused key, `unprocessable` for a broken permissions file, those of connecting.
 */
export type ApplyEdit = (caller: Caller, agentId: string, edit: EditRequest) => Promise<ChangeRow>

export function createApplyEdit(parts: EditParts): ApplyEdit {
  const { table, clock } = parts
  return async (caller, agentId, { edit, idempotencyKey, step = onceOnly(parts.database) }) => {
    parts.guard(caller, { do: 'edit-agent-config', agentId, ...ownersPart(edit.field) })
    holdPage(caller, edit.field)
    parts.fleet.require(agentId)
    return parts.mutex.take(agentId, async () => {
      parts.fleet.require(agentId)
      const digest = digestOf(agentId, edit)
      const known = idempotencyKey === undefined ? null : table.findByKey(actorOf(caller), idempotencyKey)
      if (known && !isCutOff(known)) return sameChange(known, digest)
      const id = known ? sameChange(known, digest).id : parts.newId('change')
      const at = clock.now()
      let begun = false
      try {
        const write = await parts.editableOf(edit.field).apply(caller, {
          agentId,
          edit,
          begin: (difference) => {
            if (known) {
              requireOurs(known, difference)
              return
            }
            requireSeen(edit, difference)
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
        return step.settle(() => finish(parts, { id, takesEffect: write(), caller }))
      } catch (error) {
        if (begun) table.failed(id)
        throw error
      } finally {
        if (begun || known) await parts.fleet.refreshBriefings()
      }
    })
  }
}

/** True if the mesh was killed during the edit, and the edit has not been undone since. */
function isCutOff(row: ChangeRow): boolean {
  return row.state === 'applied' && row.cut_off === 1
}

/**
 * Throws the Problem `outcome-unknown` if the current value is neither the old nor the new one: it does not show then
 * whether the interrupted edit was made.
 */
function requireOurs(known: ChangeRow, { before: now }: Difference): void {
  if (sameJson(now, known.before) || sameJson(now, known.after)) return
  throw new Problem('outcome-unknown', {
    detail:
      'the mesh was killed during this change, and the value was changed again since; check the current value with flotilla changes',
  })
}

/** Rejects the edit if the value is not the one that the editor saw, so that no later change is overwritten. */
function requireSeen({ seen }: AgentEdit, { before: now }: Difference): void {
  if (seen === undefined || sameJson(now, seen)) return
  // Editors see texts of agents sanitized, so the sanitized value is compared.
  if (typeof now === 'string' && sameJson(sanitizeForPrompt(now), seen)) return
  throw new Problem('edit-overtaken', {
    detail: 'another person or agent changed the value since you read it, so your change was not written',
  })
}

/** Marks the change as applied and records it in the audit log, in one transaction with the edit's rows. */
function finish(
  parts: EditParts,
  done: { readonly id: string; readonly takesEffect: 'now' | 'next-run'; readonly caller: Caller },
): ChangeRow {
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
}

function sameChange(known: ChangeRow, digest: string): ChangeRow {
  if (known.digest === digest) return known
  throw new Problem('conflict', { detail: 'this idempotency key was used for another edit' })
}

/** Returns a digest of the request; the written value may be another text or cover several edits. */
function digestOf(agentId: string, edit: AgentEdit): string {
  return createHash('sha256').update(JSON.stringify({ agentId, edit })).digest('hex')
}
