import { Link } from 'wouter'
import { useCurrentInView } from './use-current-in-view.ts'
import './tabs.css'

export interface Tab {
  readonly path: string
  readonly title: string
  readonly count?: number | undefined
}

/** Views of one page, each with an address. */
export function Tabs({
  label,
  tabs,
  current,
}: {
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly current: string
}) {
  const list = useCurrentInView<HTMLElement>(current)
  return (
    <nav ref={list} className="tabs" aria-label={label}>
      {tabs.map(({ path, title, count }) => (
        <Link key={path} href={path} aria-current={path === current ? 'page' : undefined}>
          {title}
          {count !== undefined && count > 0 && <span className="small muted number">{count}</span>}
        </Link>
      ))}
    </nav>
  )
}
