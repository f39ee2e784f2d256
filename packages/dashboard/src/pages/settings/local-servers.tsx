import { useState } from 'react'
import type { LocalServer, ProviderOffer } from '@flotilla/protocol/setup-api'
import { formatCount } from '../../data/format.ts'
import { useAction } from '../../data/use-mesh.ts'
import { Badge, Empty } from '../../design/parts.tsx'
import type { Tone } from '../../live/state-tone.ts'
import { ProviderForm } from './provider-form.tsx'

const states: Readonly<Record<LocalServer['state'], { readonly tone: Tone; readonly words: string }>> = {
  found: { tone: 'ok', words: 'found' },
  empty: { tone: 'warn', words: 'has no model yet' },
  other: { tone: 'neutral', words: 'another program uses this port' },
  absent: { tone: 'neutral', words: 'not running' },
}

/** Model servers of this machine: a button searches for them, and one click selects one. */
export function LocalServers({
  offers,
  onDone,
}: {
  readonly offers: readonly ProviderOffer[]
  readonly onDone: (model: string) => void
}) {
  const look = useAction('setupLocal')
  const [chosen, setChosen] = useState<string | null>(null)
  const servers = look.data?.servers ?? []
  const found = servers.filter(({ state }) => state === 'found')
  const server = found.find(({ name }) => name === (chosen ?? found[0]?.name))
  return (
    <div className="stack">
      <p className="muted">
        Ollama, LM Studio, vLLM and others that listen on their usual ports of this machine need no key.
      </p>
      <div>
        <button
          type="button"
          className="button"
          disabled={look.isPending}
          onClick={() => look.mutate({ body: {} as never })}
        >
          {look.isPending ? 'Looking' : 'Look for model servers'}
        </button>
      </div>
      {look.data && (
        <ul className="stack" aria-label="Addresses that were checked">
          {servers.map(({ name, title, base_url, state, models }) => (
            <li key={name} className="row apart">
              <span className="clip">
                {title} <span className="small muted mono">{base_url}</span>
              </span>
              <span className="row">
                {state === 'found' && (
                  <span className="small muted">{formatCount(models.length, 'model')}</span>
                )}
                <Badge tone={states[state].tone}>{states[state].words}</Badge>
                {state === 'found' && found.length > 1 && (
                  <button
                    type="button"
                    className="button small"
                    aria-pressed={server?.name === name}
                    onClick={() => setChosen(name)}
                  >
                    Use<span className="hidden-words"> {title}</span>
                  </button>
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
      {look.data && found.length === 0 && (
        <Empty title="No model server was found on this machine">
          Start one, such as <code>ollama serve</code>, and look again.
        </Empty>
      )}
      {server && (
        <ProviderForm
          key={server.name}
          offers={offers}
          known={{ provider: server.name, baseUrl: server.base_url, models: server.models }}
          onDone={onDone}
        />
      )}
    </div>
  )
}
