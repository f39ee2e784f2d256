import { useEffect } from 'react'
import { Link, Redirect, useLocation, useSearch } from 'wouter'
import { useMesh } from '../../data/use-mesh.ts'
import { loadMarkdown } from '../../design/markdown.tsx'
import { Icon } from '../../design/icons.tsx'
import { Empty, Failed, Loading } from '../../design/parts.tsx'
import { AgentList } from './agent-list.tsx'
import { ConversationList } from './conversation-list.tsx'
import { Conversation, ownSession } from './conversation.tsx'
import { keepLastChat, lastChatPath } from './last-chat.ts'
import { panesIn, panesMax, pathOf } from './panes.ts'
import type { Pane } from './panes.ts'

/** Shows the agents, and up to four conversations side by side, as the page's address names them. */
export function ChatPage({ agent }: { readonly agent: string | null }) {
  const status = useMesh('status')
  const [, go] = useLocation()
  useEffect(() => void loadMarkdown(), [])
  const search = useSearch()
  const query = new URLSearchParams(search)
  const agents = (status.data?.agents ?? []).filter(({ archived }) => !archived)
  const session = query.get('session')
  const firstPane: readonly Pane[] = agent === null ? [] : [{ agent, session }]
  const panes = [...firstPane, ...panesIn(search)]
  // True if any agent has a model: agents may have one even without a default model of the fleet.
  const thinks = status.data === undefined || agents.some(({ model }) => model !== '')
  const isFull = panes.length >= panesMax
  const isKnown = agents.some(({ id }) => id === agent)
  useEffect(() => {
    if (agent !== null && isKnown) keepLastChat(agent, session)
  }, [agent, isKnown, session])

  function show(next: readonly Pane[]): void {
    const path = pathOf(next)
    const chosen = next[0]?.session ?? null
    const more =
      chosen === null ? '' : `${path.includes('?') ? '&' : '?'}session=${encodeURIComponent(chosen)}`
    go(path + more, { replace: next.length === panes.length })
  }

  const last = agent === null ? lastChatPath(agents.map(({ id }) => id)) : null
  if (last !== null) return <Redirect to={last} replace />
  return (
    <div className={`chat ${agent === null ? '' : 'has-agent'}`}>
      <section className="chat-agents" aria-label="Agents">
        {agent === null ? <h1 className="chat-title">Chat</h1> : <h2 className="chat-title">Chat</h2>}
        {status.isPending && <Loading />}
        {status.error && <Failed error={status.error} retry={status.refetch} />}
        <AgentList
          agents={agents}
          current={agent}
          beside={({ id }) =>
            agent !== null && (
              <button
                type="button"
                className="button quiet small only-wide"
                disabled={isFull}
                aria-label={`Open ${id} beside`}
                title="Open beside"
                onClick={() => show([...panes, { agent: id, session: null }])}
              >
                <Icon name="beside" />
              </button>
            )
          }
        />
        {agent !== null && panes[0] && isKnown && (
          <ConversationList
            key={agent}
            agent={agent}
            session={panes[0].session ?? ownSession}
            usual={ownSession}
            onSession={(name) => show([{ agent, session: name }, ...panes.slice(1)])}
          />
        )}
      </section>
      {!thinks && (
        <section className="conversation" aria-label="Conversation">
          <Empty title="No model is set up yet">
            Agents answer once they have a model. <Link href="/welcome">Set up a model</Link>
          </Empty>
        </section>
      )}
      {thinks && agent === null && (
        <section className="conversation" aria-label="Conversation">
          <Empty title="Whom do you want to ask?">
            Choose an agent from the list. The operator knows the others and hands work to them.
          </Empty>
        </section>
      )}
      {thinks && agent !== null && (
        <div className="panes" data-panes={panes.length}>
          {panes.map((pane, index) => {
            const chosen = agents.find(({ id }) => id === pane.agent)
            const replace = (next: Pane) => panes.map((one, at) => (at === index ? next : one))
            const named = pane.session ?? undefined
            if (!chosen) {
              return (
                <section key={`${index} none`} className="conversation" aria-label="Conversation">
                  {status.isSuccess && (
                    <Empty title={`There is no agent ${pane.agent}`}>Choose one from the list.</Empty>
                  )}
                </section>
              )
            }
            return (
              <Conversation
                // The index is part of the key, because the same conversation may be open twice.
                key={`${index} ${chosen.id} ${named ?? ''}`}
                agent={chosen}
                isFirst={index === 0}
                first={index === 0 ? (query.get('ask') ?? '') : ''}
                // Removes the question from the address: a reload must not fill in a sent question.
                onFirstAsked={() => show(panes)}
                session={named}
                onSession={(name) => show(replace({ agent: chosen.id, session: name }))}
                onClose={panes.length > 1 ? () => show(panes.filter((_, at) => at !== index)) : undefined}
              />
            )
          })}
        </div>
      )}
    </div>
  )
}
