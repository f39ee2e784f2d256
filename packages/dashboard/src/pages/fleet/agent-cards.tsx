import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState } from 'react'
import type { AgentUse } from '@flotilla/protocol/kept-api'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { AgentCard } from './agent-card.tsx'
import { EditAgent } from './edit-agent.tsx'

/** So many are all drawn, and the browser's own search finds each of them; of more only those that are in view. */
const drawnMax = 30
/** As `.cards` has them, pixels. */
const cardMinPx = 260
const gapPx = 12
const cardHeightPx = 265
/** Rows that are drawn beyond what is in view. */
const rowsBeyond = 3

interface CardsProps {
  readonly agents: readonly AgentView[]
  readonly useOf: (id: string) => AgentUse | undefined
  readonly label: string
}

/** Agents as cards, in as many columns as there is room for. */
export function AgentCards({ agents, useOf, label }: CardsProps) {
  // Here and not in the card, which goes when it leaves the view.
  const [editing, setEditing] = useState<string | null>(null)
  const edited = agents.find(({ id }) => id === editing)
  const card = (agent: AgentView) => (
    <AgentCard agent={agent} use={useOf(agent.id)} onEdit={() => setEditing(agent.id)} />
  )
  return (
    <>
      {agents.length <= drawnMax ? (
        <ul className="cards" aria-label={label}>
          {agents.map((agent) => (
            <li key={agent.id} className="card agent-card">
              {card(agent)}
            </li>
          ))}
        </ul>
      ) : (
        <ManyCards agents={agents} card={card} label={label} />
      )}
      {edited && <EditAgent agent={edited} onClose={() => setEditing(null)} />}
    </>
  )
}

function ManyCards({
  agents,
  card,
  label,
}: Omit<CardsProps, 'useOf'> & { readonly card: (agent: AgentView) => React.ReactNode }) {
  const box = useRef<HTMLDivElement>(null)
  const [place, setPlace] = useState({ columns: 1, top: 0 })
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const look = () => {
      const { width, top } = element.getBoundingClientRect()
      const columns = Math.max(1, Math.floor((width + gapPx) / (cardMinPx + gapPx)))
      const next = { columns, top: Math.round(top + window.scrollY) }
      setPlace((before) => (before.columns === next.columns && before.top === next.top ? before : next))
    }
    look()
    const watched = new ResizeObserver(look)
    watched.observe(element)
    // Content above the element moves it.
    watched.observe(document.body)
    return () => watched.disconnect()
  }, [])
  const rows = useWindowVirtualizer({
    count: Math.ceil(agents.length / place.columns),
    estimateSize: () => cardHeightPx,
    gap: gapPx,
    overscan: rowsBeyond,
    scrollMargin: place.top,
  })
  return (
    <div
      ref={box}
      role="list"
      aria-label={label}
      className="many-cards"
      style={{ height: rows.getTotalSize() }}
    >
      {rows.getVirtualItems().map(({ index, start, key }) => (
        <div
          key={key}
          ref={rows.measureElement}
          data-index={index}
          role="presentation"
          className="cards"
          style={{ transform: `translateY(${start - place.top}px)` }}
        >
          {agents.slice(index * place.columns, (index + 1) * place.columns).map((agent, column) => (
            <div
              key={agent.id}
              role="listitem"
              aria-setsize={agents.length}
              aria-posinset={index * place.columns + column + 1}
              className="card agent-card"
            >
              {card(agent)}
            </div>
          ))}
        </div>
      ))}
    </div>
  )
}
