import { memo } from 'react'
import type { ChatHistory, HistoryMessage } from '@flotilla/protocol/chat-history'
import { Icon } from '../../design/icons.tsx'
import { Markdown } from '../../design/markdown.tsx'
import { Badge, Code } from '../../design/parts.tsx'
import { SeenPictures } from '../seen-pictures.tsx'

/** Of a result, before it is unfolded. */
const shortMaxChars = 80

/** What was said before this page was opened, as the agent remembers it. */
export const PastMessages = memo(function PastMessages({
  agent,
  history,
}: {
  readonly agent: string
  readonly history: ChatHistory
}) {
  const { messages, total } = history
  return (
    <>
      {total > messages.length && (
        <li className="muted small">{total - messages.length} older messages are not shown.</li>
      )}
      {messages.map((message, index) => (
        // They have no name of their own, and their order never changes.
        <li key={index} className="turn">
          <PastMessage message={message} />
          <SeenPictures agent={agent} by={null} pictures={message.pictures ?? []} />
        </li>
      ))}
    </>
  )
})

function PastMessage({ message: { role, text, calls } }: { readonly message: HistoryMessage }) {
  switch (role) {
    case 'user':
      return <div className="asked plain-text">{text}</div>
    case 'tool':
    case 'system':
      return (
        <details className="tool">
          <summary>
            <Icon name="tool" />
            <span className="muted">{role === 'tool' ? 'Result' : 'Told by the mesh'}</span>
            <span className="small muted clip">{text.slice(0, shortMaxChars)}</span>
          </summary>
          <div className="inside">
            <Code value={text} label="Result" />
          </div>
        </details>
      )
    case 'assistant':
      return (
        <>
          {text !== '' && <Markdown text={text} />}
          {calls.map(({ name, input }, index) => (
            <details className="tool" key={index}>
              <summary>
                <Icon name="tool" />
                <span className="clip mono">{name}</span>
                <Badge>called</Badge>
              </summary>
              <div className="inside">
                <Code value={input} label={`Arguments of ${name}`} />
              </div>
            </details>
          ))}
        </>
      )
  }
}
