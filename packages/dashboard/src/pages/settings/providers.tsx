import { useState } from 'react'
import type { ModelView } from '@flotilla/protocol/models-api'
import { formatUsd } from '../../data/format.ts'
import { useAction, useMesh, useServices } from '../../data/use-mesh.ts'
import { TextField } from '../../design/fields.tsx'
import { Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'
import { KeptProviders } from './kept-providers.tsx'
import { LocalServers } from './local-servers.tsx'
import { OwnServerForm } from './own-server-form.tsx'
import { ProviderForm } from './provider-form.tsx'

export function Providers() {
  const setup = useMesh('setup')
  const { toasts } = useServices()
  const known = setup.data?.providers.filter(({ own_server: isOwn }) => !isOwn) ?? []
  const onDone = (model: string) => toasts.tell(`${model} answered; agents use it from now on.`)
  return (
    <>
      {setup.isPending && <Loading />}
      {setup.error && <Failed error={setup.error} retry={setup.refetch} />}
      {setup.data && (
        <>
          <Card title="Default model">
            <div className="body stack">
              {setup.data.default_model === null ? (
                <div className="note warn">No model is set up yet, so no agent can answer.</div>
              ) : (
                <p>
                  Agents without a model of their own use{' '}
                  <strong className="mono">{setup.data.default_model.name}</strong>{' '}
                  <span className="muted">({setup.data.default_model.from})</span>.
                </p>
              )}
              {setup.data.default_model_locked !== null && (
                <div className="note">{setup.data.default_model_locked}</div>
              )}
              <DefaultModel now={setup.data.default_model?.name ?? ''} />
            </div>
          </Card>
          <KeptProviders providers={setup.data.providers} />
        </>
      )}
      <Models />
      {setup.data && (
        <>
          <Card title="Add a provider">
            <div className="body">
              <ProviderForm offers={known} onDone={onDone} />
            </div>
          </Card>
          <Card title="Add a server of your own">
            <div className="body">
              <OwnServerForm onDone={onDone} />
            </div>
          </Card>
          <Card title="Local model servers">
            <div className="body">
              <LocalServers offers={known} onDone={onDone} />
            </div>
          </Card>
        </>
      )}
    </>
  )
}

function DefaultModel({ now }: { readonly now: string }) {
  const [model, setModel] = useState(now)
  const set = useAction('setupModel', {
    done: 'Agents use it from their next run on.',
    stale: ['setup', 'models', 'status'],
  })
  return (
    <form
      className="row model-choice"
      onSubmit={(event) => {
        event.preventDefault()
        set.mutate({ body: { model: model.trim() === '' ? null : model.trim() } })
      }}
    >
      <input
        className="input"
        aria-label="Default model, as provider/model"
        value={model}
        onChange={(event) => setModel(event.target.value)}
        placeholder="provider/model"
      />
      <button type="submit" className="button" disabled={set.isPending || model.trim() === now}>
        Change
      </button>
    </form>
  )
}

function Models() {
  const models = useMesh('models')
  const all = models.data?.models ?? []
  return (
    <Card title="Models and prices">
      {models.isPending && <Loading />}
      {models.error && <Failed error={models.error} retry={models.refetch} />}
      {models.isSuccess && all.length === 0 && (
        <Empty title="No model is in use yet">
          The models that agents use appear here with their prices.
        </Empty>
      )}
      {all.length > 0 && (
        <Table
          label="Table of models"
          columns={['Model', 'Health', { right: 'In, per million' }, { right: 'Out, per million' }]}
          hasActions
        >
          {all.map((model) => (
            <ModelRow key={model.id} model={model} />
          ))}
        </Table>
      )}
    </Card>
  )
}

const chosenWords = { heartbeat: 'the heartbeats', compaction: 'the summaries' } as const

function ModelRow({ model }: { readonly model: ModelView }) {
  const [editing, setEditing] = useState(false)
  const { id, price, free_because, problem, health, last_error, chosen_for } = model
  const priceText = (usd: number | undefined) =>
    free_because !== null ? 'free' : usd === undefined ? 'unknown' : formatUsd(usd)
  return (
    <>
      <tr>
        <td>
          <span className="mono">{id}</span>
          {chosen_for.length > 0 && (
            <div className="small muted">
              Chosen for {chosen_for.map((purpose) => chosenWords[purpose]).join(' and ')} of all agents
            </div>
          )}
          {problem !== null && <div className="small muted">{problem}</div>}
          {last_error !== null && <div className="small muted">Last error: {last_error.detail}</div>}
        </td>
        <td data-label="Health">
          <Badge tone={health === 'ok' ? 'ok' : health === 'unknown' ? 'neutral' : 'warn'}>{health}</Badge>
        </td>
        <td className="right number" data-label="In, per million">
          {priceText(price?.input_per_mtok)}
        </td>
        <td className="right number" data-label="Out, per million">
          {priceText(price?.output_per_mtok)}
        </td>
        <td className="right">
          <button type="button" className="button small" onClick={() => setEditing(!editing)}>
            Price<span className="hidden-words"> of {id}</span> …
          </button>
        </td>
      </tr>
      {editing && (
        <tr>
          <td colSpan={5}>
            <PriceForm model={id} onDone={() => setEditing(false)} />
          </td>
        </tr>
      )}
    </>
  )
}

function PriceForm({ model, onDone }: { readonly model: string; readonly onDone: () => void }) {
  const [input, setInput] = useState('')
  const [output, setOutput] = useState('')
  const set = useAction('setupPrice', { done: 'The price applies from the next call on.', stale: ['models'] })
  const price = { input_per_mtok: Number(input), output_per_mtok: Number(output) }
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        set.mutate({ body: { model, price } }, { onSuccess: onDone })
      }}
    >
      <div className="form-pair">
        <TextField
          label="US dollars per million tokens in"
          type="number"
          min={0}
          step="any"
          required
          value={input}
          onChange={setInput}
        />
        <TextField
          label="US dollars per million tokens out"
          type="number"
          min={0}
          step="any"
          required
          value={output}
          onChange={setOutput}
        />
      </div>
      <div className="row">
        <button type="submit" className="button primary" disabled={set.isPending}>
          Set the price
        </button>
        <button
          type="button"
          className="button"
          disabled={set.isPending}
          onClick={() => set.mutate({ body: { model, price: null } }, { onSuccess: onDone })}
        >
          Use the public price list
        </button>
      </div>
    </form>
  )
}
