import { memo } from 'react'
import type { ChatHistory } from '@flotilla/protocol/chat-history'
import { isTerminal } from '@flotilla/protocol/run'
import type { RunView } from '@flotilla/protocol/run'
import { formatCount } from '../../data/format.ts'
import { Icon } from '../../design/icons.tsx'
import { Markdown } from '../../design/markdown.tsx'
import { Code } from '../../design/parts.tsx'
import { SeenPictures } from '../seen-pictures.tsx'
import { ArtifactView } from './artifact-view.tsx'
import { pastTurns } from './past-turns.ts'
import type { PastBlock, PastStep } from './past-turns.ts'
import { TurnEnd, shortInput } from './turn-view.tsx'

/** Maximum length of a collapsed result in characters. */
const shortMaxChars = 80

/** Shows the messages from before this page was opened, from the agent's history. */
export const PastMessages = memo(function PastMessages({
  agent,
  history,
  runs,
  onAsk,
}: {
  readonly agent: string
  readonly history: ChatHistory
  /** Runs of the conversation, newest first, for the cost of each turn. */
  readonly runs: readonly RunView[]
  readonly onAsk: (message: string) => void
}) {
  const { messages, total } = history
  return (
    <>
      {total > messages.length && (
        <li className="muted small">{formatCount(total - messages.length, 'older message')} not shown.</li>
      )}
      {pastTurns(messages, runs).map(({ asked, blocks, run }, index) => (
        // The index is the key, because turns have no ids and never change their order.
        <li key={index} className="turn">
          {asked !== null && <div className="asked plain-text">{asked}</div>}
          {blocks.map((block, at) => (
            <Block key={at} agent={agent} block={block} />
          ))}
          {run && isTerminal(run.state) && (
            <TurnEnd run={run} agent={agent} onRetry={() => onAsk(asked ?? '')} />
          )}
        </li>
      ))}
    </>
  )
})

function Block({ agent, block }: { readonly agent: string; readonly block: PastBlock }) {
  switch (block.kind) {
    case 'text':
      return <Markdown text={block.text} />
    case 'artifact':
      return <ArtifactView agent={agent} name={block.name} />
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
    case 'tool':
      return (
        <>
          <Step step={block} />
          <SeenPictures agent={agent} by={null} pictures={block.pictures ?? []} />
        </>
      )
  }
}

function Step({ step: { name, input, output } }: { readonly step: PastStep }) {
  const given = readInput(input)
  return (
    <details className="tool">
      <summary>
        <Icon name="tool" />
        <span className="mono clip">{name}</span>
        <span className="small muted clip">{shortInput(given)}</span>
      </summary>
      <div className="inside">
        {input !== '' && (
          <>
            <div className="small muted">Arguments</div>
            <Code value={given} label={`Arguments of ${name}`} />
          </>
        )}
        {output !== null && (
          <>
            <div className="small muted">Result</div>
            <Code value={output} label={`Result of ${name}`} />
          </>
        )}
      </div>
    </details>
  )
}

/** Parses a call's arguments; long arguments were cut, and stay text. */
function readInput(input: string): unknown {
  try {
    return JSON.parse(input)
  } catch {
    return input
  }
}
