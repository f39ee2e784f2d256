import { useState } from 'react'
import { ownNameLimits } from '@flotilla/protocol/own-names'
import { formatClock } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Icon } from '../../design/icons.tsx'
import { FormDialog } from '../../design/form-dialog.tsx'
import { TextField } from '../../design/fields.tsx'
import { matchingConversations } from './conversation-names.ts'
import { freshSession } from './panes.ts'
import { useConversations } from './use-conversations.ts'
import { runsListed } from './use-other-runs.ts'

/** From this number of conversations on, the list has a search field. */
const searchedFrom = 5

export interface ConversationListProps {
  readonly agent: string
  readonly session: string
  /** The conversation that exists without messages. */
  readonly usual: string
  readonly onSession: (session: string) => void
}

/** Lists the conversations with an agent, wherever they began; they can be searched and named. */
export function ConversationList({ agent, session, usual, onSession }: ConversationListProps) {
  const runs = useMesh('runs', { query: { agent, limit: runsListed } })
  const { named: found, give } = useConversations(agent, {
    runs: runs.data?.runs ?? [],
    open: [usual, session],
  })
  const [words, setWords] = useState('')
  const [naming, setNaming] = useState<string | null>(null)
  const named = found.toSorted(
    (one, other) => (other.at ?? Number.MAX_SAFE_INTEGER) - (one.at ?? Number.MAX_SAFE_INTEGER),
  )
  const shown = matchingConversations(named, words)
  return (
    <section className="conversations" aria-label={`Conversations with ${agent}`}>
      <div className="row apart">
        <h3 className="small muted">Conversations</h3>
        <button
          type="button"
          className="button small quiet"
          onClick={() => onSession(freshSession(named.map((one) => one.session)))}
        >
          New<span className="hidden-words"> conversation with {agent}</span>
        </button>
      </div>
      {(named.length >= searchedFrom || words !== '') && (
        <input
          className="input"
          type="search"
          placeholder="Search"
          aria-label="Search conversations"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
      )}
      <ul>
        {shown.map(({ session: name, title, at, place }) => (
          <li key={name} className="conversation-entry">
            <button
              type="button"
              className="conversation-name"
              aria-current={name === session ? 'true' : undefined}
              onClick={() => onSession(name)}
            >
              <span className="clip">{title === '' && at === null ? 'New conversation' : title || name}</span>
              <span className="small muted clip">
                {at !== null ? formatClock(at) : title === '' ? 'no messages yet' : 'now'}
                {title !== '' && ` · ${place}`}
              </span>
            </button>
            {name === session && (
              <button
                type="button"
                className="button small quiet icon-only"
                title="Name this conversation"
                onClick={() => setNaming(title)}
              >
                <Icon name="edit" />
                <span className="hidden-words">Name … {title === '' ? name : title}</span>
              </button>
            )}
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p className="small muted">No conversation has these words.</p>}
      {naming !== null && (
        <FormDialog
          title="Name this conversation"
          words="Only you see the name. Without one, the conversation has its first words."
          action="Save"
          busy={false}
          onClose={() => setNaming(null)}
          onSend={() => {
            give(session, naming)
            setNaming(null)
          }}
        >
          <TextField
            label="Name"
            value={naming}
            onChange={setNaming}
            maxLength={ownNameLimits.nameMaxChars}
          />
        </FormDialog>
      )}
    </section>
  )
}
