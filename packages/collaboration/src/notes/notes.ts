import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import { wireLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt, truncatePromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { Caller, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { Database } from '@flotilla/foundation/storage'
import { createNoteTable } from './note-table.ts'
import type { Note } from './note-table.ts'

/** The maximum number of notes in one list. */
const listedMax = 500
/** The number of notes that are kept. For older notes the audit log keeps only the id. */
const keptMax = 5000

export interface NoteToOwner {
  readonly message: string
  /** An agent that repeats a key gets the note that it created with this key before. */
  readonly idempotencyKey?: string | undefined
}

/** Notes of agents to the owner. */
export interface Notes {
  /**
   * Stores a note and returns it. Invisible characters are removed, because notes are shown on
   * terminals and pages. Problems `denied`, `bad-request`.
   */
  notifyOwner(caller: Caller, note: NoteToOwner): Note
  /** Adds a note of the mesh about this agent. Joins the caller's transaction. */
  tellOwner(agentId: string, message: string): Note
  /** Lists notes, newest first, for callers that may view the fleet. */
  list(caller: Caller, limit: number): readonly Note[]
}

export function createNotes(deps: {
  readonly database: Database
  readonly clock: Clock
  readonly newId: NewId
  readonly guard: Guard
  readonly journal: Journal
  readonly events: EventBus
}): Notes {
  const table = createNoteTable(deps.database)

  function add(note: Note, { actor, key }: { readonly actor: string; readonly key: string | null }): Note {
    const added = table.insert(note, key)
    if (!added) {
      const known = key === null ? null : table.findByKey(note.agentId, key)
      if (!known) throw new Error('a note that was not inserted is known by its key')
      return known
    }
    table.trim(keptMax)
    const { id, agentId, message } = added
    deps.journal.append({ actor, action: 'note.added', subject: id, detail: { chars: message.length } })
    const by = actor === 'system' ? ({ by: 'mesh' } as const) : {}
    deps.events.publish({ type: 'note.added', note_id: id, agent_id: agentId, message, ...by })
    return added
  }

  const newNote = (agentId: string, message: string): Note => ({
    id: deps.newId('note'),
    agentId,
    message,
    createdAt: deps.clock.now(),
  })

  return {
    notifyOwner: (caller, input) => {
      const agentId = caller.kind === 'agent' ? caller.agentId : ''
      deps.guard(caller, { do: 'act-for-self', agentId })
      const message = readMessage(input.message)
      const key = input.idempotencyKey ?? null
      return deps.database.transaction(() => add(newNote(agentId, message), { actor: actorOf(caller), key }))
    },
    tellOwner: (agentId, text) => {
      const message = truncatePromptText(sanitizeForPrompt(text), wireLimits.notifyMaxChars)
      return deps.database.transaction(() => add(newNote(agentId, message), { actor: 'system', key: null }))
    },
    list: (caller, limit) => {
      deps.guard(caller, { do: 'view-fleet' })
      return table.list(Math.min(listedMax, Math.max(1, limit)))
    },
  }
}

function readMessage(text: string): string {
  const message = sanitizeForPrompt(text).trim()
  if (message === '' || message.length > wireLimits.notifyMaxChars) {
    throw new Problem('bad-request', { detail: `a note has 1 to ${wireLimits.notifyMaxChars} characters` })
  }
  return message
}
