import { useState } from 'react'
import type { CredentialRequestView, CredentialView } from '@flotilla/protocol/vault-api'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Confirm } from '../../design/confirm.tsx'
import { AreaField, TextField } from '../../design/fields.tsx'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'

const stale = ['credentials', 'credentialRequests'] as const

/** Lists credentials that agents use by handle and never see, and credentials that agents have requested. */
export function Credentials() {
  const [asked, setAsked] = useState<CredentialRequestView | null>(null)
  const requests = useMesh('credentialRequests')
  const credentials = useMesh('credentials')
  const open = (requests.data?.requests ?? []).filter(({ state }) => state === 'open')
  const all = (credentials.data?.credentials ?? []).filter(({ tier }) => tier === 'agent')
  return (
    <>
      {requests.error && <Failed error={requests.error} retry={requests.refetch} />}
      {open.length > 0 && (
        <Card title="Requests of agents" more={<Badge tone="warn">{open.length} waiting</Badge>}>
          <ul className="body stack-wide">
            {open.map((one) => (
              <Asked key={one.id} request={one} onGive={() => setAsked(one)} />
            ))}
          </ul>
        </Card>
      )}
      <Card title={asked ? `Provide ${asked.name}` : 'Store a credential'}>
        <div className="body">
          <StoreForm key={asked?.id ?? ''} name={asked?.name ?? ''} onDone={() => setAsked(null)} />
        </div>
      </Card>
      <Card title="Credentials">
        {credentials.isPending && <Loading />}
        {credentials.error && <Failed error={credentials.error} retry={credentials.refetch} />}
        {typeof credentials.data?.broken === 'string' && (
          <div className="note bad">{credentials.data.broken}</div>
        )}
        {credentials.isSuccess && all.length === 0 && (
          <Empty title="No credential is stored">
            An agent writes <code>$CRED{'{name}'}</code> as a placeholder; the mesh inserts the value in
            requests to the hosts that you name and to no others.
          </Empty>
        )}
        {all.length > 0 && (
          <Table label="Table of credentials" columns={['Name', 'Goes to', 'Fingerprint']} hasActions>
            {all.map((one) => (
              <Row key={one.name} credential={one} />
            ))}
          </Table>
        )}
      </Card>
    </>
  )
}

function Asked({
  request,
  onGive,
}: {
  readonly request: CredentialRequestView
  readonly onGive: () => void
}) {
  const deny = useAction('credentialRequestDeny', { done: 'Denied; the agent is informed.', stale })
  return (
    <li className="stack">
      <div className="row apart">
        <span>
          <strong className="mono">{request.name}</strong> for {request.service}
        </span>
        <span className="small muted">
          {request.agent_id}, <Ago at={request.created_at} />
        </span>
      </div>
      <p className="plain-text">{request.description}</p>
      <div className="row">
        <button type="button" className="button small primary" onClick={onGive}>
          Provide it
        </button>
        <button
          type="button"
          className="button small"
          disabled={deny.isPending}
          onClick={() => deny.mutate({ params: { id: request.id }, body: {} })}
        >
          Deny<span className="hidden-words"> to {request.name}</span>
        </button>
      </div>
    </li>
  )
}

function StoreForm({ name: initialName, onDone }: { readonly name: string; readonly onDone: () => void }) {
  const [name, setName] = useState(initialName)
  const [value, setValue] = useState('')
  const [hosts, setHosts] = useState('')
  const set = useAction('credentialSet', { done: 'The credential is stored.', failsInPlace: true, stale })
  const list = hosts.split(/[\s,]+/).filter((host) => host !== '')
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        set.mutate(
          { params: { name: name.trim() }, body: { value, ...(list.length === 0 ? {} : { hosts: list }) } },
          {
            onSuccess: () => {
              setName('')
              setValue('')
              setHosts('')
              onDone()
            },
          },
        )
      }}
    >
      <div className="form-pair">
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          required
          placeholder="github_token"
          maxLength={128}
        />
        <TextField
          label="Value"
          type="password"
          value={value}
          onChange={setValue}
          required
          hint="At least 8 characters; it is never shown again."
        />
      </div>
      <AreaField
        label="Hosts that may receive the credential"
        value={hosts}
        onChange={setHosts}
        rows={2}
        placeholder="api.github.com"
        hint="One host a line; https unless you write http://. Without a host the credential is sent nowhere."
      />
      {set.error !== null && <Failed error={set.error} />}
      <div>
        <button type="submit" className="button primary" disabled={set.isPending}>
          Store
        </button>
      </div>
    </form>
  )
}

function Row({ credential }: { readonly credential: CredentialView }) {
  const [asking, setAsking] = useState(false)
  const remove = useAction('credentialRemove', { done: 'The credential is removed.', stale })
  const { name, hosts, fingerprint, source, unused_because } = credential
  return (
    <tr>
      <td className="mono">{name}</td>
      <td data-label="Goes to">
        {hosts.length === 0 ? '—' : hosts.join(', ')}
        {unused_because !== null && <div className="small muted">Not used: {unused_because}</div>}
      </td>
      <td className="mono" data-label="Fingerprint">
        {fingerprint}
      </td>
      <td className="right">
        {source === 'environment' ? (
          <Badge>set in the environment</Badge>
        ) : (
          <button type="button" className="button small" onClick={() => setAsking(true)}>
            Remove<span className="hidden-words"> {name}</span> …
          </button>
        )}
        {asking && (
          <Confirm
            title={`Remove ${name}?`}
            action={`Remove ${name}`}
            busy={remove.isPending}
            onClose={() => setAsking(false)}
            onConfirm={() => remove.mutate({ params: { name } }, { onSettled: () => setAsking(false) })}
          >
            Requests of agents that use this credential are rejected from then on. Its value is stored nowhere
            else.
          </Confirm>
        )}
      </td>
    </tr>
  )
}
