import { useState } from 'react'
import type { ProviderOffer } from '@flotilla/protocol/setup-api'
import { useAction } from '../../data/use-mesh.ts'
import { Confirm } from '../../design/confirm.tsx'
import { Badge, Card } from '../../design/parts.tsx'

/** Lists stored providers: their keys and custom addresses, also those from the environment or the settings. */
export function KeptProviders({ providers }: { readonly providers: readonly ProviderOffer[] }) {
  const [removing, setRemoving] = useState<string | null>(null)
  const remove = useAction('setupProviderRemove', {
    done: 'It is forgotten.',
    stale: ['setup', 'models', 'status'],
  })
  const kept = providers.filter(({ key, address }) => key !== 'none' || address !== null)
  if (kept.length === 0) return null
  const isServer = kept.some(({ name, own_server: isOwn }) => isOwn && name === removing)
  return (
    <Card title="Servers, stored keys and addresses">
      <ul className="body stack">
        {kept.map((offer) => {
          const { name, fingerprint, address, own_server: isOwn } = offer
          const elsewhere = keptElsewhere(offer)
          return (
            <li key={name} className="row apart">
              <span className="clip">
                <strong>{name}</strong>{' '}
                <span className="small muted">
                  {fingerprint !== null && (
                    <>
                      fingerprint <span className="mono">{fingerprint}</span>{' '}
                    </>
                  )}
                  {address !== null && (
                    <>
                      at <span className="mono">{address.url}</span>
                    </>
                  )}
                </span>
              </span>
              {elsewhere === null ? (
                <button type="button" className="button small" onClick={() => setRemoving(name)}>
                  {isOwn ? 'Remove' : 'Forget'}
                  <span className="hidden-words"> what is stored of {name}</span> …
                </button>
              ) : (
                <Badge>{elsewhere}</Badge>
              )}
            </li>
          )
        })}
      </ul>
      {removing !== null && (
        <Confirm
          title={`Delete the stored key and address of ${removing}?`}
          action={`${isServer ? 'Remove' : 'Forget'} ${removing}`}
          busy={remove.isPending}
          onClose={() => setRemoving(null)}
          onConfirm={() =>
            remove.mutate({ params: { name: removing } }, { onSettled: () => setRemoving(null) })
          }
        >
          Agents that use its models cannot answer until another key or address is entered. The key cannot be
          shown again.
        </Confirm>
      )}
    </Card>
  )
}

/** Says where a provider is configured if this page cannot change it; null if it can. Pure. */
function keptElsewhere({ key, address, own_server: isOwn }: ProviderOffer): string | null {
  if (key === 'environment' || address?.from === 'environment') return 'set in the environment'
  return !isOwn && key === 'none' && address?.from === 'settings' ? 'set in config/settings.json' : null
}
