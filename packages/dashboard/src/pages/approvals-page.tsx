import { useState } from 'react'
import { Link } from 'wouter'
import type { ApprovalState, ApprovalView } from '@flotilla/protocol/agent-edit'
import { useMesh, useRefusal } from '../data/use-mesh.ts'
import { useOpenCredentialRequests } from '../data/use-open-credential-requests.ts'
import { Act, Reserved } from '../design/act.tsx'
import { Ago, Badge, Card, Empty, Failed, Loading, PageHead } from '../design/parts.tsx'
import { Table } from '../design/table.tsx'
import type { Tone } from '../live/state-tone.ts'
import { OpenApproval } from './open-approval.tsx'
import { SeveralApprovals } from './several-approvals.tsx'
import { askingForPerson } from './agent/format-browser.ts'
import { formatActor } from '@flotilla/protocol/format-actor'

export function ApprovalsPage() {
  const isOwner = useRefusal({ call: 'pending' }) === null
  const approvals = useMesh('pending', { query: { state: 'all', limit: 100 } }, { enabled: isOwner })
  const [isDeciding, setDeciding] = useState(false)
  const all = approvals.data?.pending ?? []
  const open = all.filter(({ state }) => state === 'pending')
  const browsers = askingForPerson(useMesh('browsers').data?.browsers)
  const requests = useOpenCredentialRequests()
  const waiting = open.length + requests.length + browsers.length
  const settled = all.filter(({ state }) => state !== 'pending')
  return (
    <div className="page">
      <PageHead title="Approvals">
        {waiting > 0 && <Badge tone="warn">{waiting} waiting</Badge>}
        {open.length > 1 && (
          <Act call="pendingCancel" className="button" onClick={() => setDeciding(true)}>
            Decide several …
          </Act>
        )}
      </PageHead>
      {isDeciding && <SeveralApprovals approvals={open} onClose={() => setDeciding(false)} />}
      {!isOwner && <Reserved call="pending" title="What agents ask for" />}
      {isOwner && approvals.isPending && <Loading />}
      {approvals.error && <Failed error={approvals.error} retry={approvals.refetch} />}
      {approvals.isSuccess && waiting === 0 && (
        <section className="card" aria-label="Waiting">
          <Empty title="Nothing waits for you">
            Actions that an agent may not do alone, such as deleting an agent, wait here for your decision,
            with their exact effect.
          </Empty>
        </section>
      )}
      {open.map((one) => (
        <OpenApproval key={one.id} approval={one} />
      ))}
      {requests.map(({ id, agent_id: agentId, name, service, description }) => (
        <Card key={id} title={`${agentId} requests a credential`} more={<Badge tone="warn">waiting</Badge>}>
          <div className="body stack">
            <p className="plain-text">
              <strong className="mono">{name}</strong> for {service}: {description}
            </p>
            <div className="row">
              <Link href="/settings/credentials" className="button primary">
                Provide or deny it
              </Link>
            </div>
          </div>
        </Card>
      ))}
      {browsers.map(({ agent_id: id, page }) => (
        <Card key={id} title={`Browser of ${id}`} more={<Badge tone="warn">waiting</Badge>}>
          <div className="body stack">
            <p className="plain-text">
              {page?.host || 'A page'} shows a CAPTCHA. Take over the browser, solve the CAPTCHA, and give the
              browser back.
            </p>
            <div className="row">
              <Link href={`/agents/${encodeURIComponent(id)}`} className="button primary">
                Open the agent
              </Link>
            </div>
          </div>
        </Card>
      ))}
      {settled.length > 0 && <Settled approvals={settled} />}
    </div>
  )
}

export function Settled({ approvals }: { readonly approvals: readonly ApprovalView[] }) {
  return (
    <Card title="Decided">
      <Table label="Table of decisions" columns={['State', 'What', 'Asked by', 'Decided by', 'When']}>
        {approvals.map((one) => (
          <tr key={one.id}>
            <td>
              <Badge tone={toneOf(one.state)}>{one.state === 'confirmed' ? 'in progress' : one.state}</Badge>
            </td>
            <td>
              {one.summary}
              {one.detail !== '' && <div className="small muted">{one.detail}</div>}
            </td>
            <td data-label="Asked by">{formatActor(one.asked_by)}</td>
            <td data-label="Decided by">{one.resolved_by === null ? '—' : formatActor(one.resolved_by)}</td>
            <td className="muted">{one.resolved_at !== null && <Ago at={one.resolved_at} />}</td>
          </tr>
        ))}
      </Table>
    </Card>
  )
}

function toneOf(state: ApprovalState): Tone {
  switch (state) {
    case 'pending':
    case 'confirmed':
      return 'warn'
    case 'done':
      return 'ok'
    case 'failed':
      return 'bad'
    case 'cancelled':
    case 'expired':
      return 'neutral'
  }
}
