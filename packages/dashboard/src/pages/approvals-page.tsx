import { useState } from 'react'
import { Link } from 'wouter'
import type { ApprovalState, ApprovalView } from '@flotilla/protocol/agent-edit'
import { useAction, useMesh, useRefusal } from '../data/use-mesh.ts'
import { Reserved } from '../design/act.tsx'
import { Confirm } from '../design/confirm.tsx'
import { Ago, Badge, Card, Code, Empty, Failed, Loading, PageHead } from '../design/parts.tsx'
import { Table } from '../design/table.tsx'
import type { Tone } from '../live/state-tone.ts'
import { askingForPerson } from './agent/format-browser.ts'
import { formatActor } from '@flotilla/protocol/format-actor'

export function ApprovalsPage() {
  const isOwner = useRefusal({ call: 'pending' }) === null
  const approvals = useMesh('pending', { query: { state: 'all', limit: 100 } }, { enabled: isOwner })
  const all = approvals.data?.pending ?? []
  const open = all.filter(({ state }) => state === 'pending')
  const browsers = askingForPerson(useMesh('browsers').data?.browsers)
  const waiting = open.length + browsers.length
  const settled = all.filter(({ state }) => state !== 'pending')
  return (
    <div className="page">
      <PageHead title="Approvals">{waiting > 0 && <Badge tone="warn">{waiting} waiting</Badge>}</PageHead>
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
        <Open key={one.id} approval={one} />
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

function Open({ approval }: { readonly approval: ApprovalView }) {
  const [asking, setAsking] = useState(false)
  const stale = ['pending', 'status'] as const
  const confirm = useAction('pendingConfirm', { done: 'The action was carried out.', stale })
  const refuse = useAction('pendingCancel', { done: 'The action is rejected.', stale })
  const busy = confirm.isPending || refuse.isPending
  const { id, summary, consequences, costs, args, digest, asked_by, kind, subject } = approval
  const title = `${kind.charAt(0).toUpperCase()}${kind.slice(1).replaceAll('-', ' ')}: ${subject}`
  return (
    <Card title={title} more={<Badge tone="warn">waiting</Badge>}>
      <div className="body stack">
        <p className="plain-text">{summary}</p>
        {consequences.length > 0 && (
          <ul className="points">
            {consequences.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
        )}
        {costs.length > 0 && (
          <section className="stack tight" aria-label="What it would cost">
            <h3 className="small muted">What it would cost</h3>
            {costs.map((sentence) => (
              <p key={sentence} className="plain-text">
                {sentence}
              </p>
            ))}
          </section>
        )}
        <section className="stack tight" aria-label="Arguments">
          <h3 className="small muted">Exactly what was asked for</h3>
          <Code value={args} label="Exactly what was asked for" />
        </section>
        <div className="row small muted">
          <span>
            asked by <strong>{formatActor(asked_by)}</strong> <Ago at={approval.created_at} />
          </span>
          <span>
            expires <Ago at={approval.expires_at} />
          </span>
          {approval.run_id !== null && <Link href={`/runs/${approval.run_id}`}>Its run</Link>}
        </div>
        <div className="row">
          <button type="button" className="button primary" disabled={busy} onClick={() => setAsking(true)}>
            Approve …
          </button>
          <button
            type="button"
            className="button"
            disabled={busy}
            onClick={() => refuse.mutate({ params: { id } })}
          >
            Refuse
          </button>
        </div>
      </div>
      {asking && (
        <Confirm
          title={`${title}?`}
          action="Approve"
          busy={busy}
          onClose={() => setAsking(false)}
          onConfirm={() =>
            confirm.mutate({ params: { id }, body: { digest } }, { onSettled: () => setAsking(false) })
          }
        >
          <div className="stack">
            <p>{consequences.join(' ')}</p>
            <p>{costs.join(' ')}</p>
            <p className="small muted">
              The action that you approve has the digest <span className="mono">{digest.slice(0, 12)}</span>;
              if the action was changed since, your approval is rejected.
            </p>
          </div>
        </Confirm>
      )}
    </Card>
  )
}

function Settled({ approvals }: { readonly approvals: readonly ApprovalView[] }) {
  return (
    <Card title="Decided">
      <Table label="Table of decisions" columns={['State', 'What', 'Asked by', 'Decided by', 'When']}>
        {approvals.map((one) => (
          <tr key={one.id}>
            <td>
              <Badge tone={toneOf(one.state)}>{one.state}</Badge>
            </td>
            <td>
              {one.summary}
              {one.detail !== '' && <div className="small muted">{one.detail}</div>}
            </td>
            <td data-label="Asked by">{formatActor(one.asked_by)}</td>
            <td data-label="Decided by">{one.resolved_by ?? '—'}</td>
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
      return 'warn'
    case 'confirmed':
    case 'done':
      return 'ok'
    case 'failed':
      return 'bad'
    case 'cancelled':
    case 'expired':
      return 'neutral'
  }
}
