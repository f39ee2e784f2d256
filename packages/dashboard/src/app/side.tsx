import { Link, useLocation } from 'wouter'
import { formatCount } from '../data/format.ts'
import { useLive, useMesh } from '../data/use-mesh.ts'
import { useOpenApprovals } from '../data/use-open-approvals.ts'
import { useOpenCredentialRequests } from '../data/use-open-credential-requests.ts'
import { Icon } from '../design/icons.tsx'
import { Badge, Dot } from '../design/parts.tsx'
import { askingForPerson } from '../pages/agent/format-browser.ts'
import { Brand } from './brand.tsx'
import { entryOf, menu } from './menu.ts'

/** The number of items that wait for a person: approvals, requested credentials, and browsers that need a person. */
function useWaiting(): number {
  const { asked } = useOpenApprovals()
  const requests = useOpenCredentialRequests()
  const browsers = useMesh('browsers')
  return asked.length + requests.length + askingForPerson(browsers.data?.browsers).length
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

/** The pages that a phone shows at its lower edge; all others are in the menu. */
const barPaths: readonly string[] = ['/chat', '/fleet', '/runs', '/approvals']

/** The bar of a phone: the pages that people open most, and the menu. */
export function BottomBar({ isOpen, onMenu }: { readonly isOpen: boolean; readonly onMenu: () => void }) {
  const [path] = useLocation()
  const waiting = useWaiting()
  return (
    <nav className="bottom-bar" aria-label="Pages of the bar">
      {menu
        .filter((page) => barPaths.includes(page.path))
        .map((page) => (
          <Link key={page.path} href={page.path} aria-current={entryOf(path) === page ? 'page' : undefined}>
            <Icon name={page.icon} />
            {page.title}
            {page.path === '/approvals' && waiting > 0 && (
              <span className="hidden-words">{waiting} waiting</span>
            )}
          </Link>
        ))}
      <button type="button" aria-expanded={isOpen} onClick={onMenu}>
        <Icon name="menu" />
        Menu
      </button>
    </nav>
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
