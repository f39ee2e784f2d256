import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { Link } from 'wouter'
import { wordsOfMessage } from '@flotilla/protocol/chat-attachments'
import type { AgentView } from '@flotilla/protocol/mesh-human-api'
import { formatCount, formatUsd } from '../../data/format.ts'
import { useServices } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Confirm } from '../../design/confirm.tsx'
import { Icon } from '../../design/icons.tsx'
import { Dot, Failed, Loading } from '../../design/parts.tsx'
import { runTone } from '../../live/draw-event.ts'
import { ApprovalsOfRuns } from '../open-approval.tsx'
import { Composer } from './composer.tsx'
import type { NamedConversation } from './conversation-names.ts'
import { ConversationsSheet } from './conversations-sheet.tsx'
import { FirstQuestions } from './first-questions.tsx'
import { freshSession } from './panes.ts'
import { pastTurns } from './past-turns.ts'
import { shownTurns } from './shown-turns.ts'
import { isOpenTurn } from './turn.ts'
import { TurnView } from './turn-view.tsx'
import { UnreadSteers } from './unread-steers.tsx'
import { useConversations } from './use-conversations.ts'
import { useFreshSessions } from './use-fresh-sessions.ts'
import { useHistory } from './use-history.ts'
import { useStayAtEnd } from './use-stay-at-end.ts'
import { useReturned } from './use-returned.ts'
import { useOtherRuns } from './use-other-runs.ts'

/** The default conversation of this browser. Other conversations of the agent are selected by name. */
export const ownSession = 'dashboard'

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
  const open = turns.findLast(isOpenTurn)
  const others = useOtherRuns(agent.id, session, turns)
  const { put, putBack } = useReturned(others.loaded)
  const past = useHistory(agent.id, session, { turns, runs: others.all })
  const { data: history } = past
  useFreshSessions(agent.id, { runs: others.ofAgent, messages: history?.total })
  const remembered = useMemo(
    () => pastTurns(history?.messages ?? [], others.all, agent.id),
    [history, others.all, agent.id],
  )
  const all = shownTurns(remembered, turns, others.all)
  const other = open === undefined ? others.open : undefined
  useEffect(() => {
    if (other !== undefined) chats.attach(agent.id, session, other)
  }, [chats, agent.id, session, other])
  const { box, hasNew, toEnd } = useStayAtEnd(turns.at(-1)?.key)
  const askAgain = useCallback(
    (message: string) => chats.send(agent.id, session, message),
    [chats, agent.id, session],
  )
  const runIds = useMemo(
    () => new Set(all.flatMap(({ runId }) => (runId === null ? [] : [runId])).concat(other?.id ?? [])),
    [all, other?.id],
  )
  const { named } = useConversations(agent.id, { runs: others.ofAgent, open: [ownSession, session] })
  const title = named.find((one) => one.session === session)?.title ?? ''
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
            {title !== '' && <div className="small muted clip only-narrow">{title}</div>}
            <div className={`small muted clip ${title === '' ? '' : 'only-wide'}`}>
              {agent.model} · {formatUsd(agent.cost_today_usd)} today
            </div>
          </div>
        </div>
        <div className="row">
          <ConversationChoice named={named} session={session} onChange={onSession} />
          <ConversationsSheet agent={agent.id} session={session} usual={ownSession} onSession={onSession} />
          <Reset
            agent={agent.id}
            session={session}
            title={title}
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
        ref={box}
        role="log"
        aria-label="Messages"
        // A part that scrolls must be reachable by keyboard.
        tabIndex={0}
      >
        {past.isPending && turns.length === 0 && <Loading />}
        {past.error && turns.length === 0 && <Failed error={past.error} retry={past.refetch} />}
        {isEmpty && <FirstQuestions agent={agent} onChoose={putBack} />}
        <ol>
          {history && history.total > history.messages.length && (
            <li className="muted small">
              {formatCount(history.total - history.messages.length, 'older message')} not shown.
            </li>
          )}
          {all.map((turn) => (
            <TurnView
              key={turn.runId ?? turn.key}
              turn={turn}
              agent={agent.id}
              onRetry={askAgain}
              onPutBack={putBack}
            />
          ))}
          <ApprovalsOfRuns runIds={runIds} />
          <UnreadSteers runs={others.loaded ?? []} runIds={runIds} />
          {other && (
            <li className="turn">
              {other.input.kind === 'chat' && !all.some(({ runId }) => runId === other.id) && (
                <div className="asked plain-text">{wordsOfMessage(other.input.message)}</div>
              )}
              <div className="row muted" role="status">
                <Dot tone={runTone(other.state)} /> {agent.id}{' '}
                {other.state === 'waiting' ? 'waits with' : 'works on'} this,{' '}
                <Link href={`/runs/${other.id}`}>as its run shows</Link>
              </div>
            </li>
          )}
        </ol>
      </div>
      {hasNew && (
        <button type="button" className="button small new-messages" onClick={toEnd}>
          New messages
        </button>
      )}
      <Composer
        agent={agent.id}
        session={session}
        working={open ?? (other ? { runId: other.id } : null)}
        put={put}
        onSent={toEnd}
        first={first}
        onFirstAsked={onFirstAsked}
      />
    </section>
  )
}

function ConversationChoice({
  named,
  session,
  onChange,
}: {
  readonly named: readonly NamedConversation[]
  readonly session: string
  readonly onChange: (session: string) => void
}) {
  return (
    <label className="field conversation-choice">
      <select
        className="input"
        aria-label="Conversation"
        value={session}
        onChange={(event) => onChange(event.target.value)}
      >
        {named.map(({ session: name, label }) => (
          <option key={name} value={name}>
            {label}
          </option>
        ))}
        <option value={freshSession(named.map((one) => one.session))}>New conversation …</option>
      </select>
    </label>
  )
}

function Reset({
  agent,
  session,
  title,
  disabled,
}: {
  readonly agent: string
  readonly session: string
  /** The name that the person sees; empty if nothing was said. */
  readonly title: string
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
          {agent} no longer remembers {title === '' ? 'this conversation' : `“${title}”`}. Its messages stay
          in the archive of the agent.
        </Confirm>
      )}
    </>
  )
}
