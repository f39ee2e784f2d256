import { notFound } from '@flotilla/protocol/not-found'
import { Problem } from '@flotilla/protocol/problem'
import { onceOnly } from '@flotilla/foundation/storage'
import type { Resumable } from '@flotilla/foundation/storage'
import { actorOf } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import type { AgentEdit } from '@flotilla/protocol/agent-edit'
import type { EditParts } from './edit-deps.ts'
import type { ChangeRow } from './change-table.ts'
import { holdPage } from './hold-page.ts'
import { ownersPart } from './editable.ts'
import { journalValue } from './journal-value.ts'

/**
 * Undoes a change. A person may undo every change, an agent only its own; those of others look missing. Problems:
 * `not-found`, `undo-used`, `undo-expired`, `undo-overtaken` with both values if the value was changed since,
 * `human-only` if it would raise what only a person may raise, `proof-wanted` from a page.
 */
export type UndoChange = (caller: Caller, token: string, step?: Resumable<ChangeRow>) => Promise<ChangeRow>

export function createUndoChange(parts: EditParts): UndoChange {
  const { table, clock } = parts

  /** The change of this token; null if it does not exist or the caller may not see it. */
  function mine(caller: Caller, token: string): ChangeRow | null {
    const row = table.find(token)
    if (!row || !parts.fleet.find(row.agent_id)) return null
    return caller.kind !== 'agent' || row.actor === actorOf(caller) ? row : null
  }

  function required(caller: Caller, token: string): ChangeRow {
    const row = mine(caller, token)
    if (row) return row
    throw notFound('change', `no change has the token ${token.slice(0, 60)}`)
  }

  function requireOpen(row: ChangeRow, isResumed: boolean): void {
    if (row.state === 'undone') {
      throw new Problem('undo-used', {
        detail: `${row.undone_by ?? 'another person or agent'} has already undone this change`,
      })
    }
    if (row.state !== 'applied')
      throw new Problem('conflict', {
        detail: `this change cannot be undone, because its state is ${row.state}`,
      })
    if (!isResumed && row.expires_at <= clock.now()) {
      throw new Problem('undo-expired', {
        detail: `this change could be undone until ${new Date(row.expires_at).toISOString()}`,
      })
    }
  }

  return async (caller, token, step = onceOnly(parts.database)) => {
    const change = mine(caller, token)
    parts.guard(caller, {
      do: 'edit-agent-config',
      agentId: change?.agent_id ?? '',
      ...ownersPart(change?.field ?? ''),
    })
    const { agent_id: agentId, field: asksFor } = required(caller, token)
    holdPage(caller, asksFor)
    return parts.mutex.take(agentId, async () => {
      const isResumed = step.begun !== null
      const row = required(caller, token)
      requireOpen(row, isResumed)
      const field = row.field as AgentEdit['field'] // rows are made from edits alone
      const { before, after } = row
      step.begin({ undone: row.id })
      const write = await parts.editableOf(field).putBack(caller, { agentId, before, after, isResumed })
      const undone = step.settle(() => {
        write()
        return recordUndo(parts, caller, row)
      })
      await parts.fleet.refreshBriefings()
      return undone
    })
  }
}

function recordUndo(parts: EditParts, caller: Caller, row: ChangeRow): ChangeRow {
  parts.table.undone(row.id, actorOf(caller), parts.clock.now())
  parts.journal.append({
    actor: actorOf(caller),
    action: 'edit.undone',
    subject: row.agent_id,
    detail: { field: row.field, change: row.id, restored: journalValue(row.before, row.field) },
  })
  parts.events.publish({
    type: 'edit.undone',
    agent_id: row.agent_id,
    field: row.field,
    actor: actorOf(caller),
    undo_token: row.id,
  })
  return parts.table.find(row.id) ?? row
}
