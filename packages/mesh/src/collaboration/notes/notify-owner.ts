import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { EventBus } from '../../events/event-bus.ts'
import type { Journal } from '../../journal/journal.ts'
import type { Guard } from '../../access/action.ts'
import { actorOf } from '../../access/caller.ts'
import type { Caller } from '../../access/caller.ts'
import type { Database } from '../../storage/database.ts'
import type { Note, NoteTable } from './note-table.ts'

/** Notes that are kept; older ones are in the journal by id and digest alone. */
const notesKeptMax = 5000

export interface NoteToOwner {
  readonly message: string
  /** The same key of the same agent is the same note. */
  readonly idempotencyKey?: string | undefined
}

export type NotifyOwner = (caller: Caller, input: NoteToOwner) => Note

/** Tells the owner something. Shown on terminals and pages, so without invisible characters. Problems `denied`, `bad-request`. */
export function notifyOwner(deps: {
  readonly database: Database
  readonly table: NoteTable
  readonly guard: Guard
  readonly clock: Clock
  readonly newId: NewId
  readonly journal: Journal
  readonly events: EventBus
}): NotifyOwner {
  const { table } = deps
  return (caller, input) => {
    const agentId = caller.kind === 'agent' ? caller.agentId : ''
    deps.guard(caller, { do: 'act-for-self', agentId })
    const message = readMessage(input.message)
    const key = input.idempotencyKey ?? null
    return deps.database.transaction(() => {
      const fresh = { id: deps.newId('note'), agentId, message, createdAt: deps.clock.now() }
      const note = table.insert(fresh, key)
      if (!note) {
        const known = key === null ? null : table.findByKey(agentId, key)
        if (!known) throw new Error('a note that was not inserted is known by its key')
        return known
      }
      table.trim(notesKeptMax)
      deps.journal.append({
        actor: actorOf(caller),
        action: 'note.added',
        subject: note.id,
        detail: { chars: message.length },
      })
      deps.events.publish({ type: 'note.added', note_id: note.id, agent_id: agentId, message })
      return note
    })
  }
}

function readMessage(text: string): string {
  const message = sanitizeForPrompt(text).trim()
  if (message === '' || message.length > wireLimits.notifyMaxChars) {
    throw new Problem('bad-request', { detail: `a note has 1 to ${wireLimits.notifyMaxChars} characters` })
  }
  return message
}
