import { useChoice } from '../../data/use-choice.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Ago, Badge, Card, Code, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Table } from '../../design/table.tsx'

/** Lists the topics, their subscribers, and the messages of the selected topic. */
export function TopicsView() {
  const topics = useMesh('topicsView')
  const [{ topic }, choose] = useChoice(['topic'])
  const all = topics.data?.topics ?? []
  return (
    <>
      {topics.isPending && <Loading />}
      {topics.error && <Failed error={topics.error} retry={topics.refetch} />}
      {topics.isSuccess && all.length === 0 && (
        <section className="card" aria-label="Topics">
          <Empty title="No topics yet">
            An agent publishes messages on a topic, and all subscribed agents receive them. Agents subscribe
            to topics that their permissions allow (can_publish, can_subscribe).
          </Empty>
        </section>
      )}
      {all.length > 0 && (
        <div className={topic === '' ? 'stack' : 'beside'}>
          <section className="card" aria-label="Topics">
            <Table
              label="Table of topics"
              columns={['Topic', 'Subscribers', { right: 'Messages' }, 'Last message']}
            >
              {all.map((one) => (
                <tr key={one.topic}>
                  <td>
                    <button
                      type="button"
                      className="link-button mono"
                      aria-expanded={topic === one.topic}
                      onClick={() => choose('topic', topic === one.topic ? '' : one.topic)}
                    >
                      {one.topic}
                    </button>
                  </td>
                  <td data-label="Subscribers">{one.subscribers.join(', ') || 'none'}</td>
                  <td className="right number" data-label="Messages">
                    {one.signals}
                  </td>
                  <td className="muted" data-label="Last message">
                    {one.last_at === null ? 'never' : <Ago at={one.last_at} />}
                  </td>
                </tr>
              ))}
            </Table>
          </section>
          {topic !== '' && <Said key={topic} topic={topic} close={() => choose('topic', '')} />}
        </div>
      )}
    </>
  )
}

function Said({ topic, close }: { readonly topic: string; readonly close: () => void }) {
  const found = useMesh('topicSignals', { params: { topic } })
  const kept = found.data?.kept ?? 0
  const signals = found.data?.signals ?? []
  return (
    <Card
      title={topic}
      more={
        <button type="button" className="button small quiet" onClick={close}>
          Close
        </button>
      }
    >
      {found.isPending && <Loading rows={2} />}
      {found.error && <Failed error={found.error} retry={found.refetch} />}
      {found.isSuccess && signals.length === 0 && (
        <Empty title="This topic has no stored messages">
          Messages appear here immediately, and are stored for a week after all subscribers have read them.
        </Empty>
      )}
      <ul className="items">
        {signals.map(({ id, from, at, text, data }) => (
          <li key={id} className="stack">
            <div className="row small">
              <Badge>{from}</Badge>
              <span className="muted">
                <Ago at={at} />
              </span>
            </div>
            <p className="plain-text">{text}</p>
            {data !== null && <Code value={data} label={`Data that ${from} said`} />}
          </li>
        ))}
      </ul>
      {kept > signals.length && (
        <p className="small muted body">
          The newest {signals.length} of {kept} are shown.
        </p>
      )}
    </Card>
  )
}
