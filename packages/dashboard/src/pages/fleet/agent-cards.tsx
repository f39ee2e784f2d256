import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useRef, useState } from 'react'
import type { AgentUse } from '@flotilla/protocol/kept-api'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { AgentCard } from './agent-card.tsx'
import { EditAgent } from './edit-agent.tsx'

/** With more agents only visible cards are rendered, and the browser's search finds no others. */
const drawnMax = 30
/** Minimum width of a card in pixels, as in `.cards`. */
const cardMinPx = 260
const gapPx = 12
const cardHeightPx = 265
/** Number of rows that are rendered beyond the visible part. */
const rowsBeyond = 3

interface CardsProps {
  readonly agents: readonly AgentView[]
  readonly useOf: (id: string) => AgentUse | undefined
  readonly label: string
}

/** Shows agents as cards, in as many columns as fit. */
export function AgentCards({ agents, useOf, label }: CardsProps) {
  // This component keeps the state, because a card unmounts when it scrolls out of view.
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
    // The body is observed too, because a resize of content above the cards moves them.
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
