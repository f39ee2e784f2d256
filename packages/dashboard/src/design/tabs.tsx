import { useEffect, useRef } from 'react'
import { Link } from 'wouter'
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
  const list = useRef<HTMLElement>(null)
  useEffect(() => {
    const nav = list.current
    if (!nav) return undefined
    // The list of tabs may be wider than a phone, and a phone is turned. Nothing else than the list moves.
    const toCurrent = (): void => {
      const at = nav.querySelector('[aria-current=page]')?.getBoundingClientRect()
      const own = nav.getBoundingClientRect()
      if (at) nav.scrollLeft += at.left + at.width / 2 - own.left - own.width / 2
    }
    toCurrent()
    const watch = new ResizeObserver(toCurrent)
    watch.observe(nav)
    return () => watch.disconnect()
  }, [current])
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
