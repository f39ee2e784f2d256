import { Link } from 'wouter'
import { useMesh } from '../../data/use-mesh.ts'
import { Badge, Dot, Empty, Failed, Loading } from '../../design/parts.tsx'
import { agentTone } from '../agent-state.ts'
import { Conversation } from './conversation.tsx'

export function ChatPage({ agent }: { readonly agent: string | null }) {
  const status = useMesh('status')
  const agents = (status.data?.agents ?? []).filter(({ archived }) => !archived)
  const chosen = agents.find(({ id }) => id === agent)
  return (
    <div className={`chat ${agent === null ? '' : 'has-agent'}`}>
      <section className="chat-agents" aria-label="Agents">
        {agent === null ? <h1 className="chat-title">Chat</h1> : <h2 className="chat-title">Chat</h2>}
        {status.isPending && <Loading />}
        {status.error && <Failed error={status.error} retry={status.refetch} />}
        <ul>
          {agents.map((one) => (
            <li key={one.id}>
              <Link href={`/chat/${one.id}`} aria-current={one.id === agent ? 'page' : undefined}>
                <Dot tone={agentTone(one)} />
                <span className="clip">{one.id}</span>
                {one.busy && <Badge tone="busy">works</Badge>}
              </Link>
            </li>
          ))}
        </ul>
      </section>
      {chosen && <Conversation key={chosen.id} agent={chosen} />}
      {!chosen && (
        <section className="conversation" aria-label="Conversation">
          {agent !== null && status.isSuccess ? (
            <Empty title={`There is no agent ${agent}`}>Choose one from the list.</Empty>
          ) : (
            <Empty title="Whom do you want to ask?">
              Choose an agent from the list. The operator knows the others and hands work to them.
            </Empty>
          )}
        </section>
      )}
    </div>
  )
}
