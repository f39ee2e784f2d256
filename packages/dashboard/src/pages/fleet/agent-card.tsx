import { Menu, MenuButton, MenuItem, MenuProvider } from '@ariakit/react/menu'
import { Link } from 'wouter'
import type { AgentUse } from '@flotilla/protocol/kept-api'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { useOpenApprovals } from '../../data/use-open-approvals.ts'
import { Act } from '../../design/act.tsx'
import { Badge, Dot } from '../../design/parts.tsx'
import { UseLines } from '../agent/use-lines.tsx'
import { agentTone, agentWords } from '../agent-state.ts'
import { useLife } from './life-buttons.tsx'

/** Shows one agent at a glance, with buttons for actions on it. */
export function AgentCard({
  agent,
  use,
  onEdit,
}: {
  readonly agent: AgentView
  readonly use: AgentUse | undefined
  readonly onEdit: () => void
}) {
  const path = `/agents/${encodeURIComponent(agent.id)}`
  return (
    <>
      <div className="row apart unwrapped">
        <div className="row unwrapped clip">
          <Dot tone={agentTone(agent)} />
          <h2 className="clip">
            <Link href={path}>{agent.id}</Link>
          </h2>
        </div>
        <Badge tone={agentTone(agent)}>{agentWords(agent)}</Badge>
      </div>
      <p className="role">{agent.role}</p>
      {!agent.archived && <UseLines agent={agent} use={use} />}
      <div className="row apart small">
        <span className="muted mono clip">{agent.model}</span>
        <span className="number">
          {use?.run_id != null && <Link href={`/runs/${use.run_id}`}>Current run</Link>}
          {use?.run_id == null && agent.queued + agent.waiting > 0 && (
            <span className="muted">
              {agent.queued} queued, {agent.waiting} waiting
            </span>
          )}
        </span>
      </div>
      <WaitingApproval agentId={agent.id} />
      {agent.last_error !== null && <div className="note bad small">{agent.last_error}</div>}
      {agent.waits_for !== null && <div className="note warn small">{agent.waits_for}</div>}
      {agent.paused !== null && <div className="note warn small">Paused: {agent.paused}</div>}
      <div className="row card-end">
        {!agent.archived && (
          <Link href={`/chat/${encodeURIComponent(agent.id)}`} className="button small">
            Chat<span className="hidden-words"> with {agent.id}</span>
          </Link>
        )}
        <Link href={`${path}?tab=logs`} className="button small">
          Logs<span className="hidden-words"> of {agent.id}</span>
        </Link>
        <Act call="agentEdit" agent={agent.id} className="button small" onClick={onEdit}>
          Edit<span className="hidden-words"> {agent.id}</span>
        </Act>
        <LifeMenu agent={agent} />
      </div>
    </>
  )
}

/** Links to what this agent's runs wait for a person to approve. */
function WaitingApproval({ agentId }: { readonly agentId: string }) {
  const { asked } = useOpenApprovals()
  const [first, ...others] = asked.filter(({ asked_by: by }) => by === `agent:${agentId}`)
  if (first === undefined) return null
  return (
    <div className="note warn small">
      Waits for your approval: <Link href={`/approvals/${first.id}`}>{first.summary}</Link>
      {others.length > 0 && ` and ${others.length} more`}
    </div>
  )
}

function LifeMenu({ agent }: { readonly agent: AgentView }) {
  const { busy, actions } = useLife(agent)
  return (
    <MenuProvider placement="bottom-end">
      <MenuButton className="button small quiet" disabled={busy}>
        More<span className="hidden-words"> for {agent.id}</span>
      </MenuButton>
      <Menu className="menu-list" gutter={4} unmountOnHide portal>
        {actions.map(({ words: label, act, why }) => (
          <MenuItem
            key={label}
            className="menu-item"
            disabled={why !== null}
            title={why ?? undefined}
            onClick={act}
          >
            {label}
          </MenuItem>
        ))}
      </Menu>
    </MenuProvider>
  )
}
