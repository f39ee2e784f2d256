import { upTo } from '@flotilla/protocol/up-to'
import { memo } from 'react'
import { Link } from 'wouter'
import { readAttachments } from '@flotilla/protocol/chat-attachments'
import { problemCatalog } from '@flotilla/protocol/problem-catalog'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { formatClock, formatDuration, formatMoment, formatTokens, formatUsd } from '../../data/format.ts'
import { useSeen } from '../../data/use-seen.ts'
import { Act } from '../../design/act.tsx'
import { CopyButton } from '../../design/copy-button.tsx'
import { Icon } from '../../design/icons.tsx'
import { Markdown } from '../../design/markdown.tsx'
import { settledText } from './settled-text.ts'
import { turnParts } from './step-groups.ts'
import { ToolStep, ToolSteps, useStepTimes } from './tool-steps.tsx'
import { Badge, Code, Dot, Failed } from '../../design/parts.tsx'
import { FailureNote } from '../../design/repair.tsx'
import { runTone } from '../../live/draw-event.ts'
import { SeenPictures } from '../seen-pictures.tsx'
import { ArtifactView } from './artifact-view.tsx'
import { HandedArtifacts } from './handed-artifacts.tsx'
import { SentAttachments } from './sent-attachments.tsx'
import { returnedOf } from './use-returned.ts'
import type { Turn, TurnBlock } from './turn.ts'

export const TurnView = memo(function TurnView({
  turn,
  agent,
  onRetry,
  onPutBack,
}: {
  readonly turn: Turn
  readonly agent: string
  readonly onRetry: (message: string) => void
  /** Puts a text into the input field. */
  readonly onPutBack: (text: string) => void
}) {
  const askAgain = () => onRetry(turn.message ?? '')
  const [element, isSeen] = useSeen<HTMLLIElement>()
  const times = useStepTimes(turn, agent, isSeen)
  return (
    <li className="turn" ref={element}>
      {turn.message !== null && <Asked agent={agent} message={turn.message} onEdit={onPutBack} />}
      {turnParts(turn.blocks).map((part) =>
        // Blocks keep their first position, so the index is a stable key.
        part.kind === 'steps' ? (
          <ToolSteps key={part.index} tools={part.tools} times={times} />
        ) : (
          <Block
            key={part.index}
            block={part.block}
            took={times.get(part.block)}
            grows={turn.state === 'working' && part.index === turn.blocks.length - 1}
          />
        ),
      )}
      {(turn.state === 'sending' || turn.state === 'working') && (
        <div className="row muted" role="status">
          <Dot tone="busy" /> {turn.state === 'sending' ? 'Sending' : `${agent} works`}
        </div>
      )}
      {turn.state === 'waiting' && (
        <div className="row muted" role="status">
          <Dot tone="warn" /> {agent} waits
        </div>
      )}
      {turn.state === 'refused' && <Failed error={turn.problem} retry={askAgain} />}
      {turn.run && isTerminal(turn.run.state) && turn.blocks.some(isHandOff) && (
        <HandedArtifacts runId={turn.run.id} agent={agent} />
      )}
      {turn.run &&
        returnedOf(turn.run).map(({ id, text }) => (
          <div key={id} className="note row apart">
            <span className="plain-text">Not read before the stop: {text}</span>
            <button type="button" className="button small" onClick={() => onPutBack(text)}>
              Put back
            </button>
          </div>
        ))}
      {turn.run && isTerminal(turn.run.state) && (
        <TurnEnd run={turn.run} agent={agent} answer={answerOf(turn)} onRetry={askAgain} />
      )}
    </li>
  )
})

/** The text of the answer, without tools and notes. */
function answerOf({ blocks }: Turn): string {
  return blocks.flatMap((block) => (block.kind === 'text' ? [block.text] : [])).join('\n\n')
}

function isHandOff(block: TurnBlock): boolean {
  return block.kind === 'tool' && block.name === 'hand_off' && block.state === 'done'
}

/** The question as the person wrote it, with its files; its text can be edited and sent again, or copied. */
function Asked({
  agent,
  message,
  onEdit,
}: {
  readonly agent: string
  readonly message: string
  readonly onEdit: (text: string) => void
}) {
  const { message: text, attachments } = readAttachments(message)
  return (
    <div className="asked-group">
      {text !== '' && <div className="asked plain-text">{text}</div>}
      <SentAttachments agent={agent} attachments={attachments} />
      {text !== '' && (
        <div className="row asked-acts">
          <CopyButton text={text} what="the question" className="button small quiet" />
          <Act call="chat" agent={agent} className="button small quiet" onClick={() => onEdit(text)}>
            Edit<span className="hidden-words"> the question</span>
          </Act>
        </div>
      )}
    </div>
  )
}

function Block({
  block,
  took,
  grows,
}: {
  readonly block: TurnBlock
  readonly took: number | undefined
  readonly grows: boolean
}) {
  switch (block.kind) {
    case 'text':
      return <Markdown text={grows ? settledText(block.text) : block.text} />
    case 'note':
      return <div className={`note ${block.tone}`}>{block.text}</div>
    case 'told':
      return (
        <details className="tool">
          <summary>
            <Icon name="tool" />
            <span className="muted">From the mesh</span>
            <span className="small muted clip">{block.text.slice(0, shortMaxChars)}</span>
          </summary>
          <div className="inside">
            <Code value={block.text} label="From the mesh" />
          </div>
        </details>
      )
    case 'artifact':
      return <ArtifactView agent={block.agent} name={block.name} />
    case 'pictures':
      return <SeenPictures agent={block.agent} by={block.by} pictures={block.pictures} />
    case 'tool':
      return <ToolStep tool={block} took={took} />
  }
}

/** The longest part of a message from the mesh that its line shows, in characters. */
const shortMaxChars = 80

/** Shows how the turn ended, its cost, and a button to repeat the question. */
function TurnEnd({
  run,
  agent,
  answer,
  onRetry,
}: {
  readonly run: RunView
  readonly agent: string
  readonly answer: string
  readonly onRetry: () => void
}) {
  const took = run.started_at === null || run.ended_at === null ? null : run.ended_at - run.started_at
  const failed = run.state !== 'done'
  // A stopped run has a badge, and its text so far is shown above.
  const isStopped = run.state === 'cancelled' && run.outcome?.text.startsWith(problemCatalog.cancelled.title)
  return (
    <>
      {isStopped && <div className="note warn">Stopped before the answer was complete.</div>}
      {failed && !isStopped && run.outcome && (
        <FailureNote
          text={run.outcome.text}
          code={run.outcome.code}
          of={{ agent, run: run.id }}
          tone={run.state === 'cancelled' ? 'warn' : 'bad'}
        />
      )}
      <div className="turn-end number">
        <Badge tone={runTone(run.state)}>{run.state}</Badge>
        <span>{upTo(formatUsd(run.cost_usd), run.unconfirmed_usd)}</span>
        <span>
          {upTo(formatTokens(run.tokens_used), run.unconfirmed_tokens)}{' '}
          {run.tokens_used === 1 ? 'token' : 'tokens'}
        </span>
        {took !== null && <span>{formatDuration(took)}</span>}
        <time dateTime={new Date(run.created_at).toISOString()} title={formatMoment(run.created_at)}>
          {formatClock(run.created_at)}
        </time>
        <Link href={`/runs/${run.id}`}>Details</Link>
        {answer !== '' && <CopyButton text={answer} what="the answer" className="button small quiet" />}
        <Act call="chat" agent={agent} className={`button small ${failed ? '' : 'quiet'}`} onClick={onRetry}>
          Ask again
        </Act>
      </div>
    </>
  )
}
