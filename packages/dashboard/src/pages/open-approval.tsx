import { useState } from 'react'
import { Link } from 'wouter'
import { formatActor } from '@flotilla/protocol/format-actor'
import { harnessApprovalKind } from '@flotilla/protocol/harness-api'
import { paymentApprovalKind } from '@flotilla/protocol/wallet-payments'
import type { ApprovalView } from '@flotilla/protocol/agent-edit'
import { confirmedWords, requireCarriedOut } from '../data/require-carried-out.ts'
import { useAction, useMesh, useRefusal } from '../data/use-mesh.ts'
import { Confirm } from '../design/confirm.tsx'
import { Ago, Badge, Card, Code, Failed, Loading } from '../design/parts.tsx'
import { Points } from '../design/points.tsx'

/** The open approvals that runs wait for, for people who may decide them. */
export function ApprovalsOfRuns({ runIds }: { readonly runIds: ReadonlySet<string> }) {
  const mayDecide = useRefusal({ call: 'pending' }) === null
  const approvals = useMesh('pending', { query: { state: 'open', limit: 100 } }, { enabled: mayDecide })
  const open = (approvals.data?.pending ?? []).filter(({ run_id: id }) => id !== null && runIds.has(id))
  return open.map((approval) => (
    <li key={approval.id} className="turn">
      <OpenApproval approval={approval} />
    </li>
  ))
}

/** The kinds of actions that a rule of config/policy.yaml asked for, so that another rule can allow them. */
const policyKinds: readonly string[] = [
  'http-request',
  'program-request',
  'mcp-call',
  paymentApprovalKind,
  harnessApprovalKind,
]

/** An action that waits for a person, with its exact effect, and the buttons that decide. */
export function OpenApproval({ approval }: { readonly approval: ApprovalView }) {
  const [asking, setAsking] = useState<'once' | 'always' | null>(null)
  const stale = ['pending', 'pendingOne', 'status'] as const
  const confirm = useAction('pendingConfirm', {
    done: confirmedWords,
    requireDone: requireCarriedOut,
    stale,
  })
  const refuse = useAction('pendingCancel', { done: 'The action is rejected.', stale })
  const always = useAction('pendingAlways', {
    done: ({ rule, not_added: notAdded, approval }) =>
      rule === null
        ? `No rule was added: ${notAdded ?? ''}. ${approval.detail}`
        : `The action was carried out, and the rule ${rule.name} was added.`,
    requireDone: ({ approval }) => requireCarriedOut(approval),
    stale: [...stale, 'policy', 'policyStops'],
  })
  const proposed = useMesh(
    'pendingAlwaysRule',
    { params: { id: approval.id } },
    { enabled: asking === 'always' },
  )
  // A confirmed action that takes minutes is listed until it ends.
  const isPending = approval.state === 'pending'
  const busy = !isPending || confirm.isPending || refuse.isPending || always.isPending
  const { id, summary, consequences, costs, args, digest, asked_by, kind, subject } = approval
  const title = `${kind.charAt(0).toUpperCase()}${kind.slice(1).replaceAll('-', ' ')}: ${subject}`
  return (
    <Card title={title} more={<Badge tone="warn">{isPending ? 'waiting' : 'in progress'}</Badge>}>
      <div className="body stack">
        <p className="plain-text">{summary}</p>
        <Points sentences={consequences} />
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
          {isPending && (
            <span>
              expires <Ago at={approval.expires_at} />
            </span>
          )}
          {approval.run_id !== null && <Link href={`/runs/${approval.run_id}`}>Its run</Link>}
        </div>
        <div className="row">
          <button type="button" className="button primary" disabled={busy} onClick={() => setAsking('once')}>
            Approve …
          </button>
          {policyKinds.includes(kind) && (
            <button type="button" className="button" disabled={busy} onClick={() => setAsking('always')}>
              Always …
            </button>
          )}
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
      {asking !== null && (
        <Confirm
          title={asking === 'always' ? 'Approve this, and allow it from now on?' : `${title}?`}
          action={asking === 'always' ? 'Approve always' : 'Approve'}
          busy={busy || (asking === 'always' && proposed.data === undefined)}
          onClose={() => setAsking(null)}
          onConfirm={() => {
            const settled = { onSettled: () => setAsking(null) }
            const rule = proposed.data?.rule.name
            if (asking === 'once') confirm.mutate({ params: { id }, body: { digest } }, settled)
            else always.mutate({ params: { id }, body: { digest, ...(rule && { rule }) } }, settled)
          }}
        >
          <div className="stack">
            <Points sentences={consequences} />
            {asking === 'always' && <ProposedRule proposed={proposed} />}
            <Points sentences={costs} />
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

/** The rule that would be added, and exactly what it allows. */
function ProposedRule({
  proposed: { data, error, refetch },
}: {
  readonly proposed: ReturnType<typeof useMesh<'pendingAlwaysRule'>>
}) {
  if (error) return <Failed error={error} retry={refetch} />
  if (data === undefined) return <Loading />
  return (
    <>
      <p>After the action was carried out, this rule is added to config/policy.yaml:</p>
      <pre className="code" tabIndex={0} role="region" aria-label="The rule">
        {data.text}
      </pre>
      <Points sentences={data.allows} />
    </>
  )
}
