import { useState } from 'react'
import type { PersonView } from '@flotilla/protocol/people-api'
import { personRoles } from '@flotilla/protocol/people'
import type { PersonRole } from '@flotilla/protocol/people'
import { formatDay } from '../../data/format.ts'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Confirm } from '../../design/confirm.tsx'
import { ChoiceField, SecretOnce, TextField } from '../../design/fields.tsx'
import { Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'

const stale = ['people'] as const
const roleWords: Readonly<Record<PersonRole, string>> = {
  viewer: 'viewer: looks at everything but secrets',
  member: 'member: acts on named agents',
  owner: 'owner: may do everything',
}
const roleChoices = personRoles.map((role) => [role, roleWords[role]] as const)

function roleOf(text: string): PersonRole {
  return personRoles.find((role) => role === text) ?? 'viewer'
}

function namesIn(text: string): string[] {
  return text.split(/[\s,]+/).filter((name) => name !== '')
}

/** Manages other people's access to this mesh. */
export function People() {
  const people = useMesh('people')
  const [token, setToken] = useState<{ readonly name: string; readonly token: string } | null>(null)
  const all = people.data?.people ?? []
  return (
    <>
      {token && (
        <SecretOnce title={`The token of ${token.name}`} secret={token.token} onClose={() => setToken(null)}>
          <span>
            The person sets the token for the command line as <code>FLOTILLA_TOKEN</code>.
          </span>
        </SecretOnce>
      )}
      <Card title="Add a person">
        <div className="body">
          <AddForm onToken={setToken} />
        </div>
      </Card>
      <Card title="People">
        {people.isPending && <Loading />}
        {people.error && <Failed error={people.error} retry={people.refetch} />}
        {people.isSuccess && all.length === 0 && (
          <Empty title="Only you">
            You own this machine, so you are an owner. Other people have no access until you add them above.
          </Empty>
        )}
        <ul className="body stack-wide">
          {all.map((person) => (
            <Entry key={person.name} person={person} onToken={setToken} />
          ))}
        </ul>
      </Card>
    </>
  )
}

type OnToken = (shown: { readonly name: string; readonly token: string }) => void

function AddForm({ onToken }: { readonly onToken: OnToken }) {
  const [name, setName] = useState('')
  const [role, setRole] = useState<PersonRole>('member')
  const [agents, setAgents] = useState('*')
  const add = useAction('personAdd', { failsInPlace: true, stale })
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        const granted = role === 'member' ? namesIn(agents) : []
        add.mutate(
          { body: { name: name.trim(), role, agents: granted } },
          {
            onSuccess: ({ token }) => {
              onToken({ name: name.trim(), token })
              setName('')
            },
          },
        )
      }}
    >
      <div className="form-pair">
        <TextField label="Name" value={name} onChange={setName} required maxLength={32} placeholder="ada" />
        <ChoiceField
          label="Role"
          value={role}
          onChange={(next) => setRole(roleOf(next))}
          choices={roleChoices}
        />
      </div>
      {role === 'member' && (
        <TextField
          label="Agents"
          value={agents}
          onChange={setAgents}
          hint="Names of agents, separated by commas; * is every worker."
        />
      )}
      {add.error !== null && <Failed error={add.error} />}
      <div>
        <button type="submit" className="button primary" disabled={add.isPending}>
          Add
        </button>
      </div>
    </form>
  )
}

const tokenWords = {
  none: 'has no token',
  valid: 'has a token',
  expired: 'has an expired token',
} as const

function Entry({ person, onToken }: { readonly person: PersonView; readonly onToken: OnToken }) {
  const [asking, setAsking] = useState<'token' | 'remove' | null>(null)
  const change = useAction('personChange', { done: 'The role applies from now on.', stale })
  const rotate = useAction('personRotate', { stale })
  const remove = useAction('personRemove', { done: 'The person is removed.', stale })
  const { name, role, agents, identities, token, token_expires_at: ends } = person
  const params = { name }
  return (
    <li className="row apart">
      <span className="stack">
        <span className="row">
          <strong>{name}</strong>
          <Badge tone={role === 'owner' ? 'busy' : 'neutral'}>{role}</Badge>
        </span>
        <span className="small muted">
          {role === 'member' && `${agents.length === 0 ? 'no agents' : agents.join(', ')}; `}
          {identities.length > 0 && `${identities.join(', ')}; `}
          {tokenWords[token]}
          {token === 'valid' && ends !== null && ` until ${formatDay(Date.parse(ends))}`}
        </span>
      </span>
      <span className="row">
        <select
          className="input"
          aria-label={`Role of ${name}`}
          value={role}
          disabled={change.isPending}
          onChange={(event) => change.mutate({ params, body: { role: roleOf(event.target.value) } })}
        >
          {personRoles.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <button type="button" className="button small" onClick={() => setAsking('token')}>
          New token<span className="hidden-words"> for {name}</span> …
        </button>
        <button type="button" className="button small quiet" onClick={() => setAsking('remove')}>
          Remove<span className="hidden-words"> {name}</span> …
        </button>
      </span>
      {asking === 'token' && (
        <Confirm
          title={`A new token for ${name}?`}
          action="Make a new token"
          busy={rotate.isPending}
          onClose={() => setAsking(null)}
          onConfirm={() =>
            rotate.mutate(
              { params },
              { onSuccess: ({ token }) => onToken({ name, token }), onSettled: () => setAsking(null) },
            )
          }
        >
          The current one is revoked immediately; open pages and streams are closed.
        </Confirm>
      )}
      {asking === 'remove' && (
        <Confirm
          title={`Remove ${name}?`}
          action={`Remove ${name}`}
          busy={remove.isPending}
          onClose={() => setAsking(null)}
          onConfirm={() => remove.mutate({ params }, { onSettled: () => setAsking(null) })}
        >
          Their token is revoked immediately. Their actions stay in the journal.
        </Confirm>
      )}
    </li>
  )
}
