import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { useEffect, useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Badge, Dot } from '../../design/parts.tsx'
import { agentTone } from '../agent-state.ts'

/** From this number of agents on, the list has a search field. */
const searchedFrom = 10

/** Lists the agents whom a person can talk to; a long list can be searched, and shows the current one. */
export function AgentList({
  agents,
  current,
  beside,
}: {
  readonly agents: readonly AgentView[]
  readonly current: string | null
  /** What is shown at the end of an agent's row. */
  readonly beside: (agent: AgentView) => ReactNode
}) {
  const [find, setFind] = useState('')
  const list = useRef<HTMLUListElement>(null)
  const words = find.trim().toLowerCase()
  const shown = agents.filter(({ id, role }) => `${id}\n${role}`.toLowerCase().includes(words))
  const isThere = agents.length > 0
  useEffect(() => {
    const box = list.current
    const row = box?.querySelector<HTMLElement>('[aria-current=page]')
    if (!box || !row) return
    // Scrolls only the list and nothing else.
    const [own, at] = [box.getBoundingClientRect(), row.getBoundingClientRect()]
    if (at.top < own.top || at.bottom > own.bottom)
      box.scrollTop += at.top + at.height / 2 - own.top - own.height / 2
  }, [current, isThere])
  return (
    <div className="agent-choice">
      {agents.length >= searchedFrom && (
        <input
          className="input"
          type="search"
          placeholder="Search"
          aria-label="Search agents"
          value={find}
          onChange={(event) => setFind(event.target.value)}
        />
      )}
      <ul ref={list}>
        {shown.map((one) => (
          <li key={one.id} className="chat-agent">
            <Link href={`/chat/${one.id}`} aria-current={one.id === current ? 'page' : undefined}>
              <Dot tone={agentTone(one)} />
              <span className="clip">{one.id}</span>
              {one.busy && <Badge tone="busy">working</Badge>}
            </Link>
            {beside(one)}
          </li>
        ))}
      </ul>
      {isThere && shown.length === 0 && <p className="small muted">No agent has these words.</p>}
    </div>
  )
}
