import { useState } from 'react'
import { useAction } from '../../data/use-mesh.ts'
import { TextField, TickField } from '../../design/fields.tsx'
import { CheckProgress } from './check-progress.tsx'
import { ModelField } from './model-field.tsx'
import { serverName } from './server-name.ts'

/** Adds a server with an OpenAI-compatible API under a name of its own, after one of its models has answered. */
export function OwnServerForm({ onDone }: { readonly onDone: (model: string) => void }) {
  const [name, setName] = useState('')
  const [baseUrl, setBaseUrl] = useState('')
  const [key, setKey] = useState('')
  const [model, setModel] = useState('')
  const [isFree, setFree] = useState(false)
  const [names, setNames] = useState<readonly string[]>([])
  const check = useAction('setupCheck')
  const store = useAction('setupProvider', { failsInPlace: true, stale: ['setup', 'models', 'status'] })
  const busy = check.isPending || store.isPending
  const typedKey = key.trim() === '' ? {} : { key }
  const candidate = { provider: name, base_url: baseUrl.trim(), ...typedKey }

  function reset(): void {
    for (const set of [setName, setBaseUrl, setKey, setModel]) set('')
    setNames([])
    setFree(false)
  }

  return (
    <form
      className="form"
      aria-label="Add a server"
      onSubmit={(event) => {
        event.preventDefault()
        store.mutate(
          { body: { ...candidate, model: model.trim(), costs_nothing: isFree, make_default: true } },
          {
            onSuccess: (stored) => {
              reset()
              onDone(stored.model)
            },
          },
        )
      }}
    >
      <div className="form-pair">
        <TextField
          label="Name of the server"
          value={name}
          onChange={(typed) => setName(serverName(typed))}
          required
          maxLength={64}
          placeholder="gpu-box"
          hint={
            name === '' ? 'Models, costs and errors show this name.' : `Its models are called ${name}/MODEL.`
          }
        />
        <TextField
          label="Address of the server"
          type="url"
          value={baseUrl}
          onChange={setBaseUrl}
          required
          placeholder="http://10.0.0.5:8000/v1"
        />
      </div>
      <TextField
        label="Key of the server (if it requires one)"
        type="password"
        value={key}
        onChange={setKey}
        hint="The key is sent only to this address, and never shown again."
      />
      <ModelField label="Model of the server" value={model} onChange={setModel} names={names} usual={null} />
      <TickField
        label="Calls are free, because the server is mine. Otherwise set the prices under Models and prices."
        checked={isFree}
        onChange={setFree}
      />
      <CheckProgress name={name} store={store} />
      <div className="row">
        <button type="submit" className="button primary" disabled={busy}>
          {store.isPending ? 'Checking' : 'Check, add and use by default'}
        </button>
        <button
          type="button"
          className="button"
          disabled={busy || name === '' || candidate.base_url === ''}
          onClick={() => check.mutate({ body: candidate }, { onSuccess: ({ models }) => setNames(models) })}
        >
          {check.isPending ? 'Asking' : 'List models of the server'}
        </button>
      </div>
    </form>
  )
}
