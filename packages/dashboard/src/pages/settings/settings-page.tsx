import { Suspense, lazy } from 'react'
import type { ComponentType } from 'react'
import { Link } from 'wouter'
import { Reserved } from '../../design/act.tsx'
import { Empty, Loading, PageHead } from '../../design/parts.tsx'
import './settings.css'

interface Part {
  readonly id: string
  readonly title: string
  readonly Page: ComponentType
}

const parts: readonly Part[] = [
  {
    id: 'providers',
    title: 'Providers and models',
    Page: lazy(async () => ({ default: (await import('./providers.tsx')).Providers })),
  },
  {
    id: 'integrations',
    title: 'Integrations',
    Page: lazy(async () => ({ default: (await import('./integrations.tsx')).Integrations })),
  },
  {
    id: 'channels',
    title: 'Channels',
    Page: lazy(async () => ({ default: (await import('./channels.tsx')).Channels })),
  },
  {
    id: 'credentials',
    title: 'Credentials',
    Page: lazy(async () => ({ default: (await import('./credentials.tsx')).Credentials })),
  },
  {
    id: 'limits',
    title: 'Limits',
    Page: lazy(async () => ({ default: (await import('./limits.tsx')).Limits })),
  },
  {
    id: 'people',
    title: 'People',
    Page: lazy(async () => ({ default: (await import('./people.tsx')).People })),
  },
  {
    id: 'browsers',
    title: 'Browsers',
    Page: lazy(async () => ({ default: (await import('./browsers.tsx')).Browsers })),
  },
  {
    id: 'backup',
    title: 'Backup',
    Page: lazy(async () => ({ default: (await import('./backup.tsx')).Backup })),
  },
]

export function SettingsPage({ part }: { readonly part: string | null }) {
  const chosen = parts.find(({ id }) => id === (part ?? parts[0]?.id))
  return (
    <Reserved call="setup" title="Settings" isPage>
      <div className="page">
        <PageHead title="Settings" />
        <div className="settings">
          <nav className="menu" aria-label="Parts of the settings">
            {parts.map(({ id, title }) => (
              <Link key={id} href={`/settings/${id}`} aria-current={id === chosen?.id ? 'page' : undefined}>
                {title}
              </Link>
            ))}
            <Link href="/wallet">Wallet</Link>
          </nav>
          <div className="stack-wide">
            {chosen ? (
              <Suspense fallback={<Loading />}>
                <chosen.Page />
              </Suspense>
            ) : (
              <Empty title="There is no such part">Choose one from the list.</Empty>
            )}
          </div>
        </div>
      </div>
    </Reserved>
  )
}
