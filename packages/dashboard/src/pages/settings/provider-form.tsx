import { useState } from 'react'
import type { ProviderOffer } from '@flotilla/protocol/setup-api'
import { useAction } from '../../data/use-mesh.ts'
import { ChoiceField, TextField } from '../../design/fields.tsx'
import { CheckProgress } from './check-progress.tsx'
import { ModelField } from './model-field.tsx'

/** Asks for a key; the mesh tests it with a one-word call and stores it. The page forgets the key. */
export function ProviderForm({
  offers,
  known,
  onDone,
}: {
  readonly offers: readonly ProviderOffer[]
  /** Values that are already known, such as the address of a server that was found. */
  readonly known?: { readonly provider: string; readonly baseUrl: string; readonly models: readonly string[] }
  readonly onDone: (model: string) => void
}) {
  const [provider, setProvider] = useState(known?.provider ?? offers[0]?.name ?? '')
  const [key, setKey] = useState('')
  const [baseUrl, setBaseUrl] = useState(known?.baseUrl ?? '')
  const [model, setModel] = useState(known?.models[0] ?? '')
  const [names, setNames] = useState<readonly string[]>(known?.models ?? [])
  const stale = ['setup', 'models', 'status'] as const
  const check = useAction('setupCheck')
  const store = useAction('setupProvider', { failsInPlace: true, stale })
  const offer = offers.find(({ name }) => name === provider)
  const busy = check.isPending || store.isPending
  const usual = offer?.usual_model?.slice(provider.length + 1) ?? null
  const fixed = offer?.address && offer.address.from !== 'file' ? offer.address : null
  // A typed key is sent to the address that the page shows, whatever address is stored.
  const place = fixed?.url ?? offer?.base_url ?? ''
  const address = baseUrl.trim() || (key.trim() === '' ? '' : place)
  const candidate = {
    provider,
    ...(key.trim() === '' ? {} : { key }),
    ...(address === '' ? {} : { base_url: address }),
    ...(model.trim() === '' ? {} : { model: model.trim() }),
  }

  function choose(next: string): void {
    setProvider(next)
    setBaseUrl('')
    setModel('')
    setNames([])
    check.reset()
    store.reset()
  }

  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        store.mutate(
          { body: { ...candidate, make_default: true } },
          {
            onSuccess: (kept) => {
              setKey('')
              onDone(kept.model)
            },
          },
        )
      }}
    >
      {!known && (
        <ChoiceField
          label="Provider"
          value={provider}
          onChange={choose}
          choices={offers.map(({ name, key: has }) => [name, has === 'none' ? name : `${name} (key is set)`])}
        />
      )}
      {(!known || offer?.needs_key === true) && (
        <TextField
          label="Key"
          type="password"
          value={key}
          onChange={setKey}
          placeholder={offer && offer.key !== 'none' ? 'stored' : ''}
          hint="The key is tested with the provider before it is stored, and never shown again."
        />
      )}
      {!known && fixed !== null && (
        <p className="small muted">
          {provider} is at <span className="mono">{fixed.url}</span>, and so goes its key:{' '}
          {fixed.from === 'settings' ? 'config/settings.json' : 'the environment of the mesh'} says it.
        </p>
      )}
      {!known && fixed === null && (
        <TextField
          label="Address (only if not the usual one)"
          type="url"
          value={baseUrl}
          onChange={setBaseUrl}
          placeholder={offer?.base_url ?? 'https://'}
          {...(offer?.address
            ? {
                hint: `The current address is ${offer.address.url}. A new key is sent to the usual address, unless you enter another one here.`,
              }
            : {})}
        />
      )}
      <ModelField label="Model" value={model} onChange={setModel} names={names} usual={usual} />
      <CheckProgress name={provider} store={store} />
      <div className="row">
        <button type="submit" className="button primary" disabled={busy}>
          {store.isPending ? 'Checking' : 'Check and save'}
        </button>
        {!known && (
          <button
            type="button"
            className="button"
            disabled={busy}
            onClick={() => check.mutate({ body: candidate }, { onSuccess: ({ models }) => setNames(models) })}
          >
            {check.isPending ? 'Asking' : 'List models'}
          </button>
        )}
      </div>
    </form>
  )
}
