import { useState } from 'react'
import type { ChangeView } from '@flotilla/protocol/agent-edit'
import { formatActor } from '@flotilla/protocol/format-actor'
import { formatField } from '../../data/format.ts'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { useNow } from '../../data/use-now.ts'
import { Act } from '../../design/act.tsx'
import { DiffView } from '../../design/diff-view.tsx'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'

const shownMax = 20
/** Only owners may change permissions and MCP servers. */
const ownersFields: readonly string[] = ['permissions', 'mcpServers']

/** Lists the changes of an agent, their authors, and which can still be undone. */
export function Changes({ agentId }: { readonly agentId: string }) {
  const changes = useMesh('changes', { query: { agent: agentId, limit: shownMax } })
  return (
    <Card title="Changes">
      {changes.isPending && <Loading />}
      {changes.error && <Failed error={changes.error} retry={changes.refetch} />}
      {changes.data?.changes.length === 0 && (
        <Empty title="Nothing was changed yet">
          Each change is listed here with its difference. Texts can be undone for five minutes, settings for
          half an hour.
        </Empty>
      )}
      {changes.data?.changes.map((change) => (
        <Change key={change.undo_token} change={change} />
      ))}
    </Card>
  )
}

function Change({ change }: { readonly change: ChangeView }) {
  const now = useNow()
  const [open, setOpen] = useState(false)
  const undo = useAction('changeUndo', {
    done: `The change of ${formatField(change.field)} is undone.`,
    stale: [
      'changes',
      'agentConfig',
      'identityFile',
      'identityFiles',
      'permissionOrigins',
      'mcpServers',
      'status',
    ],
  })
  return (
    <div className="kept-row">
      <div className="row apart">
        <div className="row">
          <strong>{formatField(change.field)}</strong>
          {change.state !== 'applied' && (
            <Badge tone={change.state === 'failed' ? 'bad' : 'neutral'}>{change.state}</Badge>
          )}
          <span className="small muted">
            {formatActor(change.actor)} <Ago at={change.applied_at} />
          </span>
        </div>
        <div className="row">
          <button
            type="button"
            className="button small quiet"
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            Difference
          </button>
          {change.state === 'applied' && change.expires_at > now && (
            <Act
              call="changeUndo"
              agent={change.agent_id}
              wants={ownersFields.includes(change.field) ? 'owner' : undefined}
              className="button small"
              disabled={undo.isPending}
              onClick={() => undo.mutate({ params: { token: change.undo_token } })}
            >
              Undo
            </Act>
          )}
        </div>
      </div>
      {change.reason !== '' && <p className="muted plain-text">{change.reason}</p>}
      {open && (
        <DiffView
          before={textOf(change.before)}
          after={textOf(change.after)}
          label={`What changed in ${formatField(change.field)}`}
        />
      )}
    </div>
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
