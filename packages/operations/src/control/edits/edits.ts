import { editableFiles } from '@flotilla/protocol/workspace-file'
import type { AgentEdit, ChangeView } from '@flotilla/protocol/agent-edit'
import type { JsonValue } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import { createAgentMutex } from '@flotilla/fleet/agents'
import { actorOf } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'
import { answering, onceOnly } from '@flotilla/foundation/storage'
import type { Resumable } from '@flotilla/foundation/storage'
import { createApplyEdit } from './apply-edit.ts'
import { createChangeTable } from './change-table.ts'
import type { ChangeRow } from './change-table.ts'
import { editFile } from './edit-file.ts'
import { editMcpServers } from './edit-mcp-servers.ts'
import { editPermissions } from './edit-permissions.ts'
import { editRecord } from './edit-record.ts'
import type { Editable } from './editable.ts'
import { journalValue } from './journal-value.ts'
import type { EditsDeps } from './edit-deps.ts'
import { createUndoChange } from './undo-change.ts'

export interface Edits {
  /** Changes one thing of an agent, at once. The reply says until when it can be undone. */
  apply(
    caller: Caller,
    agentId: string,
    edit: { edit: AgentEdit; idempotencyKey?: string; step?: Resumable<ChangeView> },
  ): Promise<ChangeView>
  /** Undoes a change once, while its value is unchanged. */
  undo(caller: Caller, token: string, step?: Resumable<ChangeView>): Promise<ChangeView>
  /** Lists changes, newest first; an agent sees only its own. */
  list(
    caller: Caller,
    page: { readonly agentId?: string | undefined; readonly limit: number },
  ): readonly ChangeView[]
  forget(agentId: string): void
}

/** The maximum length of a text in lists and replies, in characters. */
const shownMaxChars = 4000

/**
 * Edits of agents by people and by the operator.
 *
 * - E1 The old and new values are stored before the edit is written.
 * - E2 Edits of one agent, and their undoing, run one after the other.
 * - E3 An undo works once, and only while the current value is the one that the change made.
 * - E4 A caller that is not a person at the terminal is bound by the operator's ceiling in both directions.
 */
export function createEdits(deps: EditsDeps): Edits {
  const table = createChangeTable(deps.database)
  const mutex = createAgentMutex(deps.clock)
  const editableOf = createEditables(deps)
  table.settleCutOff()
  const parts = { ...deps, table, mutex, editableOf }
  const apply = createApplyEdit(parts)
  const undo = createUndoChange(parts)
  return {
    apply: async (caller, agentId, { step = onceOnly(deps.database), ...edit }) => {
      const view = (row: ChangeRow) => changeView(caller, row)
      return view(await apply(caller, agentId, { ...edit, step: answering(step, view) }))
    },
    undo: async (caller, token, step = onceOnly(deps.database)) => {
      const view = (row: ChangeRow) => changeView(caller, row)
      return view(await undo(caller, token, answering(step, view)))
    },
    list: (caller, { agentId, limit }) => {
      deps.guard(caller, { do: 'view-fleet' })
      const actor = caller.kind === 'agent' ? actorOf(caller) : undefined
      return table.list({ agentId, actor, limit }).map((row) => changeView(caller, row))
    },
    forget: table.forget,
  }
}

/** How each field is edited. A field without an entry does not compile. */
function createEditables(deps: EditsDeps): (field: AgentEdit['field']) => Editable {
  const { role, model, budget } = editRecord(deps)
  const permissions = editPermissions({
    permissions: deps.permissions,
    holdCeiling: deps.holdCeiling,
  })
  const files = editableFiles.map((name) => [name, editFile(deps.fleet, name)] as const)
  const table = new Map<string, unknown>([
    ['role', role],
    ['model', model],
    ['budget', budget],
    ['permissions', permissions],
    ['mcpServers', editMcpServers({ servers: deps.fleet.mcpServers })],
    ...files,
  ] satisfies readonly (readonly [AgentEdit['field'], unknown])[])
  return (field) => {
    const editable = table.get(field)
    if (!editable)
      throw new Problem('bad-request', {
        detail: `an agent has no field ${field.slice(0, 60)} that can be edited; flotilla edit --help lists the fields`,
      })
    return editable as Editable // each row takes the edits of its own field, by which it was found
  }
}

/** Returns a change for this caller: agents and people who are not owners see only the names of MCP servers. */
function changeView(caller: Caller, row: ChangeRow): ChangeView {
  const isOwner = caller.kind !== 'agent' && (caller.kind !== 'human' || caller.role === 'owner')
  const isPrivate = !isOwner && row.field === 'mcpServers'
  const shown = (value: JsonValue): JsonValue => (isPrivate ? journalValue(value, row.field) : cut(value))
  return {
    undo_token: row.id,
    agent_id: row.agent_id,
    field: row.field,
    before: shown(row.before),
    after: shown(row.after),
    actor: row.actor,
    reason: row.reason,
    state: row.state,
    applied_at: row.applied_at,
    expires_at: row.expires_at,
    undone_by: row.undone_by,
    takes_effect: row.takes_effect,
  }
}

function cut(value: JsonValue): JsonValue {
  return typeof value === 'string' && value.length > shownMaxChars
    ? `${value.slice(0, shownMaxChars)}\n[cut]`
    : value
}
