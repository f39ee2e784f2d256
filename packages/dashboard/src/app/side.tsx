import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { formatCount } from '../data/format.ts'
import { useLive, useMesh, useRefusal } from '../data/use-mesh.ts'
import { Icon } from '../design/icons.tsx'
import { Badge, Dot } from '../design/parts.tsx'
import { askingForPerson } from '../pages/agent/format-browser.ts'
import { Brand } from './brand.tsx'
import { entryOf, menu } from './menu.ts'
import { applyTheme, readTheme, themes } from './theme.ts'
import type { Theme } from './theme.ts'

/** The number of items that wait for a person: approvals, and browsers that need a person. */
function useWaiting(): number {
  const isOwner = useRefusal({ call: 'pending' }) === null
  const pending = useMesh('pending', { query: { state: 'open', limit: 200 } }, { enabled: isOwner })
  const browsers = useMesh('browsers')
  return (pending.data?.pending.length ?? 0) + askingForPerson(browsers.data?.browsers).length
}

/** A link to the waiting items, for screens on which the menu is hidden. */
export function WaitingLink() {
  const waiting = useWaiting()
  if (waiting === 0) return null
  return (
    <Link href="/approvals" className="waiting-link">
      <Badge tone="warn">{waiting} waiting</Badge>
      <span className="hidden-words"> in Approvals</span>
    </Link>
  )
}

/** The menu, with the number of items that wait for a person. */
export function Side({ onPalette }: { readonly onPalette?: () => void }) {
  const [path] = useLocation()
  const waiting = useWaiting()
  return (
    <div className="side">
      <Brand />
      <nav className="menu" aria-label="Pages">
        {menu.map((page) => (
          <Link key={page.path} href={page.path} aria-current={entryOf(path) === page ? 'page' : undefined}>
            <Icon name={page.icon} />
            {page.title}
            {page.path === '/approvals' && waiting > 0 && (
              <span className="count">
                <Badge tone="warn">
                  {waiting}
                  <span className="hidden-words"> waiting</span>
                </Badge>
              </span>
            )}
          </Link>
        ))}
      </nav>
      <div className="side-end">
        {onPalette && (
          <button type="button" className="button quiet" onClick={onPalette}>
            Go to … <kbd className="small">Ctrl K</kbd>
          </button>
        )}
        <ThemeChoice />
        <nav className="menu" aria-label="About the dashboard">
          <Link href="/design" aria-current={path === '/design' ? 'page' : undefined}>
            <Icon name="design" />
            Design
          </Link>
        </nav>
        <Who />
        <LineState />
      </div>
    </div>
  )
}

/** The name and role of the user, if it is not the owner of this machine. */
function Who() {
  const { data: me } = useMesh('me')
  if (!me || (me.name === null && me.role === 'owner')) return null
  const roleText = {
    viewer: 'who may read but not change anything',
    member: me.agents.length === 0 ? 'of no agent' : `of ${me.agents.join(', ')}`,
    owner: '',
  }[me.role]
  return (
    <p className="line-state who">
      <span>
        <strong>{me.name}</strong> · {me.role} {roleText}
      </span>
    </p>
  )
}

/** Shows whether the page is connected to the event stream, and so up to date. */
function LineState() {
  const { line, dropped } = useLive()
  const shown = {
    connecting: { tone: 'neutral', words: 'Connecting' },
    live: { tone: 'ok', words: 'Live' },
    broken: { tone: 'warn', words: 'Reconnecting' },
  } as const
  const { tone, words: label } = shown[line]
  return (
    <div className="line-state" data-line={line}>
      <Dot tone={tone} />
      <span role="status">{label}</span>
      {dropped > 0 && <span>{formatCount(dropped, 'event')} missed</span>}
    </div>
  )
}

function ThemeChoice() {
  const [theme, setTheme] = useState<Theme>(readTheme)
  return (
    <label className="field line-state">
      Theme
      <select
        className="input"
        value={theme}
        onChange={(event) => {
          const chosen = themes.find((one) => one === event.target.value) ?? 'system'
          applyTheme(chosen)
          setTheme(chosen)
        }}
      >
        {themes.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    </label>
  )
}
