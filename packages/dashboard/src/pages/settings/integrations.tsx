import { useState } from 'react'
import type { WebhookView } from '@flotilla/protocol/webhook-api'
import { useChoice } from '../../data/use-choice.ts'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Confirm } from '../../design/confirm.tsx'
import { SecretOnce } from '../../design/fields.tsx'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Deliveries } from './deliveries.tsx'
import { SignedExample } from './signed-example.tsx'
import { WebhookForm } from './webhook-form.tsx'

interface Shown {
  readonly hook: WebhookView
  readonly secret: string
}

/** Lists webhooks and creates them; agents cannot create webhooks. */
export function Integrations() {
  const hooks = useMesh('webhooks')
  const [{ new: made }, choose] = useChoice(['new'])
  const making = made === 'webhook'
  const setMaking = (isOpen: boolean) => choose('new', isOpen ? 'webhook' : '')
  const [shown, setShown] = useState<Shown | null>(null)
  const all = hooks.data?.webhooks ?? []
  const onSecret = (hook: WebhookView, secret: string | null) =>
    setShown(secret === null ? null : { hook, secret })
  return (
    <>
      <Card
        title="Webhooks"
        more={
          <button type="button" className="button small" onClick={() => setMaking(!making)}>
            {making ? 'Cancel' : 'New webhook …'}
          </button>
        }
      >
        {making && (
          <div className="body">
            <WebhookForm
              onDone={(hook, secret) => {
                setMaking(false)
                onSecret(hook, secret)
              }}
            />
          </div>
        )}
        {shown && (
          <div className="body">
            <SecretOnce
              title={`The secret of ${shown.hook.name}`}
              secret={shown.secret}
              onClose={() => setShown(null)}
            >
              <span>
                The sender signs each body with it (HMAC-SHA256) in the header{' '}
                <code>x-webhook-signature</code>, and posts to{' '}
                <code className="mono">{window.location.origin + shown.hook.path}</code>, or the same path
                where your mesh is reached from outside.
              </span>
              <SignedExample hook={shown.hook} secret={shown.secret} />
            </SecretOnce>
          </div>
        )}
        {hooks.isPending && <Loading />}
        {hooks.error && <Failed error={hooks.error} retry={hooks.refetch} />}
        {hooks.isSuccess && all.length === 0 && !making && (
          <Empty title="No webhook can start an agent yet">
            A webhook passes events of another system to one agent: an alert, a ticket, a finished build.
          </Empty>
        )}
      </Card>
      {all.map((hook) => (
        <Hook key={hook.id} hook={hook} onSecret={onSecret} />
      ))}
    </>
  )
}

function Hook({
  hook,
  onSecret,
}: {
  readonly hook: WebhookView
  readonly onSecret: (hook: WebhookView, secret: string | null) => void
}) {
  const [open, setOpen] = useState(false)
  const [asking, setAsking] = useState<'delete' | 'rotate' | null>(null)
  const stale = ['webhooks', 'webhookDeliveries'] as const
  const change = useAction('webhookChange', { stale })
  const rotate = useAction('webhookRotate', { stale })
  const test = useAction('webhookTest', { done: 'The test event was delivered; its result is below.', stale })
  const remove = useAction('webhookDelete', { done: 'The webhook is deleted.', stale })
  const { id, name, agent_id, enabled, signed, counts } = hook
  return (
    <Card
      title={name}
      more={
        <span className="row">
          <Badge tone={enabled ? 'ok' : 'neutral'}>{enabled ? 'on' : 'off'}</Badge>
          <Badge tone={signed ? 'ok' : 'warn'}>{signed ? 'signed' : 'open to anyone'}</Badge>
        </span>
      }
    >
      <div className="body stack">
        <p>
          Delivers to <strong>{agent_id}</strong> what is posted to{' '}
          <code className="mono path">{window.location.origin + hook.path}</code>
        </p>
        {hook.instructions !== '' && <p className="plain-text muted">{hook.instructions}</p>}
        <p className="small muted">
          {counts.accepted ?? 0} accepted, {counts.skipped ?? 0} skipped, {counts.duplicate ?? 0} repeated,{' '}
          {(counts.refused ?? 0) + (counts.limited ?? 0)} refused
          {hook.last_delivery_at !== null && (
            <>
              ; the last one <Ago at={hook.last_delivery_at} />
            </>
          )}
          {hook.previous_secret_until !== null && (
            <>
              ; the previous secret works until <Ago at={hook.previous_secret_until} />
            </>
          )}
        </p>
        <div className="row">
          <button
            type="button"
            className="button small"
            disabled={test.isPending}
            onClick={() =>
              test.mutate(
                { params: { id }, body: { payload: { test: true, from: 'the dashboard' } } },
                { onSuccess: () => setOpen(true) },
              )
            }
          >
            Send a test<span className="hidden-words"> to {name}</span>
          </button>
          <button type="button" className="button small" onClick={() => setAsking('rotate')}>
            New secret<span className="hidden-words"> for {name}</span> …
          </button>
          <button
            type="button"
            className="button small"
            disabled={change.isPending}
            onClick={() => change.mutate({ params: { id }, body: { enabled: !enabled } })}
          >
            Turn {enabled ? 'off' : 'on'}
            <span className="hidden-words"> {name}</span>
          </button>
          <button type="button" className="button small" aria-expanded={open} onClick={() => setOpen(!open)}>
            Deliveries<span className="hidden-words"> of {name}</span>
          </button>
          <button type="button" className="button small danger" onClick={() => setAsking('delete')}>
            Delete<span className="hidden-words"> {name}</span> …
          </button>
        </div>
      </div>
      {signed && (
        <details className="body">
          <summary className="small">Example of a signed event</summary>
          <SignedExample hook={hook} secret={null} />
        </details>
      )}
      {open && <Deliveries hook={hook} />}
      {asking === 'rotate' && (
        <Confirm
          title={`A new secret for ${name}?`}
          action="Make a new secret"
          busy={rotate.isPending}
          onClose={() => setAsking(null)}
          onConfirm={() =>
            rotate.mutate(
              { params: { id }, body: {} },
              {
                onSuccess: ({ webhook, secret }) => onSecret(webhook, secret),
                onSettled: () => setAsking(null),
              },
            )
          }
        >
          The current secret works for another 24 hours, so that the sender can be changed meanwhile.
        </Confirm>
      )}
      {asking === 'delete' && (
        <Confirm
          title={`Delete ${name}?`}
          action={`Delete ${name}`}
          busy={remove.isPending}
          onClose={() => setAsking(null)}
          onConfirm={() => remove.mutate({ params: { id } }, { onSettled: () => setAsking(null) })}
        >
          The secret and the history are deleted too, and the sender is rejected from then on.
        </Confirm>
      )}
    </Card>
  )
}
