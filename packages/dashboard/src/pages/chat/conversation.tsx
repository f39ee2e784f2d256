import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { Link } from 'wouter'
import type { ChatHistory } from '@flotilla/protocol/chat-history'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { formatCount, formatUsd } from '../../data/format.ts'
import { useMesh, useServices } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Confirm } from '../../design/confirm.tsx'
import { Icon } from '../../design/icons.tsx'
import { Dot, Empty, Failed, Loading } from '../../design/parts.tsx'
import { runTone } from '../../live/draw-event.ts'
import { Composer } from './composer.tsx'
import { freshSession } from './panes.ts'
import { PastMessages } from './past-messages.tsx'
import { TurnView } from './turn-view.tsx'
import { useOtherRuns } from './use-other-runs.ts'

/** The default conversation of this browser. Other conversations of the agent are selected by name. */
const ownSession = 'dashboard'
/** A scroll position within this distance of the end counts as the end. */
const nearEndPx = 80
/** Number of earlier messages that are shown. */
const pastMessages = 200

export function Conversation({
  agent,
  first = '',
  onFirstAsked,
  session = ownSession,
  isFirst,
  onSession,
  onClose,
}: {
  readonly agent: AgentView
  readonly first?: string
  readonly onFirstAsked: () => void
  readonly session?: string | undefined
  readonly isFirst: boolean
  readonly onSession: (session: string) => void
  /** Absent for the only pane. */
  readonly onClose?: (() => void) | undefined
}) {
  const { chats } = useServices()
  const turns = useSyncExternalStore(chats.subscribe, () => chats.turns(agent.id, session))
  const open = turns.findLast(({ state }) => state === 'sending' || state === 'working')
  const past = useMesh(
    'chatHistory',
    { params: { id: agent.id }, query: { session, limit: pastMessages } },
    // New messages are shown from the turns; reloading the history would show them twice.
    { staleTime: Number.POSITIVE_INFINITY, gcTime: Number.POSITIVE_INFINITY },
  )
  const others = useOtherRuns(agent.id, session, turns)
  const other = open === undefined ? others.open : undefined
  const scrolled = useStayAtEnd()
  const isEmpty = turns.length === 0 && other === undefined && past.data?.messages.length === 0

  return (
    <section className="conversation" aria-label={`Conversation with ${agent.id}, ${session}`}>
      <header>
        <div className="row clip">
          <Link href="/chat" className="button quiet only-narrow" aria-label="All agents">
            <Icon name="back" />
          </Link>
          <div className="clip">
            {isFirst ? <h1 className="clip">{agent.id}</h1> : <h2 className="clip">{agent.id}</h2>}
            <div className="small muted clip">
              {agent.model} · {formatUsd(agent.cost_today_usd)} today
            </div>
          </div>
        </div>
        <div className="row">
          <SessionChoice agent={agent.id} session={session} onChange={onSession} />
          <Reset
            agent={agent.id}
            session={session}
            disabled={open !== undefined || other !== undefined || isEmpty}
          />
          {onClose && (
            <button
              type="button"
              className="button quiet"
              aria-label={`Close the conversation with ${agent.id}, ${session}`}
              onClick={onClose}
            >
              <Icon name="close" />
            </button>
          )}
        </div>
      </header>
      <div
        className="turns"
        ref={scrolled}
        role="log"
        aria-label="Messages"
        // A part that scrolls must be reachable by keyboard.
        tabIndex={0}
      >
        {past.isPending && turns.length === 0 && <Loading />}
        {past.error && turns.length === 0 && <Failed error={past.error} retry={past.refetch} />}
        {isEmpty && (
          <Empty title={`No messages with ${agent.id} yet`}>
            {agent.role === '' ? 'Ask this agent something.' : agent.role}
          </Empty>
        )}
        <ol>
          {past.data && (
            <PastMessages
              agent={agent.id}
              history={past.data}
              runs={others.all}
              onAsk={(message) => chats.send(agent.id, session, message)}
            />
          )}
          {other && (
            <li className="turn">
              {other.input.kind === 'chat' && !isLastAsked(past.data, other.input.message) && (
                <div className="asked plain-text">{other.input.message}</div>
              )}
              <div className="row muted" role="status">
                <Dot tone={runTone(other.state)} /> {agent.id} works on this,{' '}
                <Link href={`/runs/${other.id}`}>as its run shows</Link>
              </div>
            </li>
          )}
          {turns.map((turn) => (
            <TurnView
              key={turn.key}
              turn={turn}
              agent={agent.id}
              onRetry={() => chats.send(agent.id, session, turn.message)}
            />
          ))}
        </ol>
      </div>
      <Composer
        agent={agent.id}
        session={session}
        working={open ?? (other ? { runId: other.id } : null)}
        first={first}
        onFirstAsked={onFirstAsked}
      />
    </section>
  )
}

/** Whether the loaded history already contains the question. */
function isLastAsked(history: ChatHistory | undefined, message: string): boolean {
  return history?.messages.findLast(({ role }) => role === 'user')?.text === message
}

/** Keeps the newest message in view, unless the reader has scrolled up. */
function useStayAtEnd(): React.RefObject<HTMLDivElement | null> {
  const box = useRef<HTMLDivElement>(null)
  const atEnd = useRef(true)
  useEffect(() => {
    const element = box.current
    if (!element) return
    let before = element.scrollTop
    // The scroll event may come after the content grew; only scrolling up stops following the end.
    const look = () => {
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < nearEndPx
      if (isNear || element.scrollTop < before) atEnd.current = isNear
      before = element.scrollTop
    }
    const follow = () => {
      if (atEnd.current) element.scrollTop = element.scrollHeight
    }
    const grown = new MutationObserver(follow)
    // A picture has no height until it is loaded, and its `load` event does not bubble.
    element.addEventListener('load', follow, { capture: true })
    element.addEventListener('scroll', look, { passive: true })
    grown.observe(element, { childList: true, subtree: true, characterData: true })
    // A second pane makes this one narrower, so that lines wrap without any change of content.
    const wrapped = new ResizeObserver(follow)
    wrapped.observe(element)
    return () => {
      wrapped.disconnect()
      element.removeEventListener('scroll', look)
      element.removeEventListener('load', follow, { capture: true })
      grown.disconnect()
    }
  }, [])
  return box
}

function SessionChoice({
  agent,
  session,
  onChange,
}: {
  readonly agent: string
  readonly session: string
  readonly onChange: (session: string) => void
}) {
  const known = useMesh('chatSessions', { params: { id: agent } })
  const names = [...new Set([ownSession, session, ...(known.data?.sessions ?? []).map((one) => one.session)])]
  return (
    <label className="field">
      <span className="only-wide">Session</span>
      <select
        className="input"
        aria-label="Session"
        value={session}
        onChange={(event) => onChange(event.target.value)}
      >
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
        <option value={freshSession(names)}>New session …</option>
      </select>
    </label>
  )
}

function Reset({
  agent,
  session,
  disabled,
}: {
  readonly agent: string
  readonly session: string
  readonly disabled: boolean
}) {
  const { client, queries, chats, toasts } = useServices()
  const [asking, setAsking] = useState(false)
  const [busy, setBusy] = useState(false)

  async function reset(): Promise<void> {
    setBusy(true)
    try {
      const { archived_messages } = await client.call('chatReset', {
        params: { id: agent },
        body: { session },
      })
      chats.forget(agent, session)
      await queries.invalidateQueries({ queryKey: ['chatHistory'] })
      await queries.invalidateQueries({ queryKey: ['chatSessions'] })
      toasts.tell(`${formatCount(archived_messages, 'message')} went into the archive of ${agent}.`)
      setAsking(false)
    } catch (error) {
      toasts.fail(error)
    } finally {
      setBusy(false)
    }
  }

  return (
    <>
      <Act
        call="chatReset"
        agent={agent}
        className="button"
        disabled={disabled}
        onClick={() => setAsking(true)}
      >
        Start over
      </Act>
      {asking && (
        <Confirm
          title="Start this conversation over?"
          action="Start over"
          busy={busy}
          onClose={() => setAsking(false)}
          onConfirm={() => void reset()}
        >
          {agent} no longer remembers the conversation “{session}”. Its messages stay in the archive of the
          agent.
        </Confirm>
      )}
    </>
  )
}
