import { useState } from 'react'
import { Link } from 'wouter'
import { formatChannel } from '@flotilla/protocol/format-actor'
import type { FactView } from '@flotilla/protocol/kept-api'
import { formatCount } from '../../data/format.ts'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Confirm } from '../../design/confirm.tsx'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'

const pageSize = 50

const trusts = {
  owner: { tone: 'ok', words: 'said by a person' },
  self: { tone: 'neutral', words: 'its own' },
  agent: { tone: 'warn', words: 'another agent said so' },
  outside: { tone: 'bad', words: 'from outside' },
} as const

/** Lists what an agent remembers, with source and trust; each fact can be deleted. */
export function MemoryTab({ agentId }: { readonly agentId: string }) {
  const [typed, setTyped] = useState('')
  const [words, setWords] = useState('')
  /** The last fact of each earlier page; the next page begins after it. */
  const [pages, setPages] = useState<readonly string[]>([])
  const before = pages.at(-1)
  const facts = useMesh('facts', {
    params: { id: agentId },
    query: { words, limit: pageSize, ...(before === undefined ? {} : { before }) },
  })
  const { data } = facts
  return (
    <Card
      title="Memory"
      more={
        <form
          className="search-form"
          onSubmit={(event) => {
            event.preventDefault()
            setPages([])
            setWords(typed)
          }}
        >
          <input
            className="input"
            type="search"
            maxLength={200}
            placeholder="Words to find"
            aria-label="Words to look for in memory"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
          <button type="submit" className="button">
            Search
          </button>
        </form>
      }
    >
      {facts.isPending && <Loading />}
      {facts.error && <Failed error={facts.error} retry={facts.refetch} />}
      {data?.facts.length === 0 && (
        <Empty title={data.total === 0 ? 'The agent remembers nothing yet' : 'No fact has these words'}>
          {data.total === 0
            ? 'Ask the agent in Chat to remember something: a preference, a name, how something is done. It remembers that in every later conversation.'
            : `It remembers ${formatCount(data.total, 'fact')}; look for other words.`}
        </Empty>
      )}
      {data?.facts.map((fact) => (
        <Fact key={fact.id} agentId={agentId} fact={fact} />
      ))}
      {data && (pages.length > 0 || data.more) && (
        <div className="row apart body">
          <button
            type="button"
            className="button"
            disabled={pages.length === 0}
            onClick={() => setPages(pages.slice(0, -1))}
          >
            Newer
          </button>
          <span className="small muted number">{formatCount(data.total, 'fact')}</span>
          <button
            type="button"
            className="button"
            disabled={!data.more}
            onClick={() => setPages([...pages, data.facts.at(-1)?.id ?? ''])}
          >
            Older
          </button>
        </div>
      )}
    </Card>
  )
}

function Fact({ agentId, fact }: { readonly agentId: string; readonly fact: FactView }) {
  const [asking, setAsking] = useState(false)
  const forget = useAction('factForget', { done: 'The fact is forgotten.', stale: ['facts'] })
  const { tone, words: label } = trusts[fact.trust]
  const { source } = fact
  return (
    <div className="kept-row">
      <div className="row apart">
        <div className="row">
          <strong>{fact.key ?? fact.id}</strong>
          <Badge tone={tone}>{label}</Badge>
          <span className="small muted">{fact.category}</span>
        </div>
        <Act call="factForget" agent={agentId} className="button small" onClick={() => setAsking(true)}>
          Forget …<span className="hidden-words"> {fact.key ?? fact.id}</span>
        </Act>
      </div>
      <p className="plain-text">{fact.text}</p>
      <div className="row small muted">
        <span>
          saved <Ago at={fact.created_at} /> with {source.tool}
        </span>
        <span>
          from {source.origin === 'human' ? 'a person' : source.origin}
          {source.channel !== '' && ` (${formatChannel(source.channel)})`}
        </span>
        <span>used {formatCount(fact.use_count, 'time')}</span>
        {source.run_id !== '' && <Link href={`/runs/${encodeURIComponent(source.run_id)}`}>Its run</Link>}
      </div>
      {source.urls.length > 0 && (
        <div className="small muted">
          after reading{' '}
          {source.urls.map((url) => (
            <span key={url} className="mono plain-text">
              {url}{' '}
            </span>
          ))}
        </div>
      )}
      {asking && (
        <Confirm
          title={`Forget ${fact.key ?? fact.id}?`}
          action={`Forget ${fact.key ?? fact.id}`}
          busy={forget.isPending}
          onClose={() => setAsking(false)}
          onConfirm={() =>
            forget.mutate({ params: { id: agentId, fact: fact.id } }, { onSettled: () => setAsking(false) })
          }
        >
          <p className="plain-text">{fact.text}</p>
          <p className="muted">This cannot be undone. You can tell the agent the fact again.</p>
        </Confirm>
      )}
    </div>
  )
}
