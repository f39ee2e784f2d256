import { Suspense, lazy } from 'react'
import type { ComponentType, ReactNode } from 'react'
import { Link } from 'wouter'
import { useMesh, useRefusal } from '../../data/use-mesh.ts'
import { Reserved } from '../../design/act.tsx'
import { Empty, Loading, PageHead } from '../../design/parts.tsx'
import { settingsParts } from './settings-parts.ts'
import type { SettingsPart } from './settings-parts.ts'
import './settings.css'

const pages: Readonly<Record<SettingsPart, ComponentType>> = {
  providers: lazy(async () => ({ default: (await import('./providers.tsx')).Providers })),
  integrations: lazy(async () => ({ default: (await import('./integrations.tsx')).Integrations })),
  channels: lazy(async () => ({ default: (await import('./channels.tsx')).Channels })),
  credentials: lazy(async () => ({ default: (await import('./credentials.tsx')).Credentials })),
  limits: lazy(async () => ({ default: (await import('./limits.tsx')).Limits })),
  people: lazy(async () => ({ default: (await import('./people.tsx')).People })),
  browsers: lazy(async () => ({ default: (await import('./browsers.tsx')).Browsers })),
  backup: lazy(async () => ({ default: (await import('./backup.tsx')).Backup })),
  appearance: lazy(async () => ({ default: (await import('./appearance.tsx')).Appearance })),
}

export function SettingsPage({ part }: { readonly part: string | null }) {
  const chosen = settingsParts.find(({ id }) => id === (part ?? settingsParts[0].id))
  const Page = chosen && pages[chosen.id]
  return (
    <ForOwners isFree={chosen?.id === 'appearance'}>
      <div className="page">
        <PageHead title="Settings" />
        <div className="settings">
          <nav className="menu" aria-label="Parts of the settings">
            {settingsParts.map(({ id, title }) => (
              <Link key={id} href={`/settings/${id}`} aria-current={id === chosen?.id ? 'page' : undefined}>
                {title}
              </Link>
            ))}
            <Link href="/wallet">Wallet</Link>
          </nav>
          <div className="stack-wide">
            {Page ? (
              <Suspense fallback={<Loading />}>
                <Page />
              </Suspense>
            ) : (
              <Empty title="There is no such part">Choose one from the list.</Empty>
            )}
          </div>
        </div>
      </div>
    </ForOwners>
  )
}

/** Shows settings to owners only, except those that a person makes for their own browser. */
function ForOwners({ isFree, children }: { readonly isFree: boolean; readonly children: ReactNode }) {
  const isKnown = useMesh('me').data !== undefined
  const refusal = useRefusal({ call: 'setup' })
  if (isFree) return children
  return (
    <>
      <Reserved call="setup" title="Settings" isPage>
        {children}
      </Reserved>
      {isKnown && refusal !== null && (
        <p className="page">
          <Link href="/settings/appearance">Colors of this browser</Link>
        </p>
      )}
    </>
  )
}
