import { Link } from 'wouter'
import { formatMoment } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { Ago, Badge, Failed, Loading } from '../../design/parts.tsx'

/** Maximum number of due times, newest first. */
const shownMax = 50

/** Shows when a job is due next, why it did not fire, and the result of each due time. */
export function JobHistory({ id }: { readonly id: string }) {
  const history = useMesh('cronHistory', { params: { id }, query: { limit: shownMax } })
  if (history.isPending) return <Loading />
  if (history.error) return <Failed error={history.error} retry={history.refetch} />
  const { rows, why, next, job } = history.data
  // Sentences that the list of due times shows are left out of the reasons above the list.
  const listed = new Set(rows.map(({ words: text }) => text))
  return (
    <div className="stack">
      <section className="stack" aria-label="Why did it not fire?">
        <h3>Why did it (not) fire?</h3>
        <ul className="points">
          {why
            .filter((sentence) => !listed.has(sentence))
            .map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          {job.when !== null && <li>At each due time it asks first whether {job.when}.</li>}
        </ul>
      </section>
      {next.length > 0 && (
        <section className="stack" aria-label="Next times">
          <h3>Next times</h3>
          <ol className="row small number">
            {next.map((at) => (
              <li key={at}>
                <Badge>{formatMoment(at)}</Badge>
              </li>
            ))}
          </ol>
        </section>
      )}
      {rows.length > 0 && (
        <section className="stack" aria-label="History">
          <h3>History</h3>
          <ol className="stack">
            {rows.map((row) => (
              <li key={`${row.due_at}:${row.at}`} className="firing">
                <Badge tone={row.state === 'skipped' ? 'warn' : row.outcome === 'failed' ? 'bad' : 'ok'}>
                  {row.state}
                </Badge>
                <span className="muted small">
                  <Ago at={row.due_at} />
                </span>
                <span className="plain-text">
                  {row.words}{' '}
                  {row.run_id !== null && (
                    <Link href={`/runs/${row.run_id}`}>
                      Its run<span className="hidden-words"> {row.run_id}</span>
                    </Link>
                  )}
                </span>
              </li>
            ))}
          </ol>
        </section>
      )}
    </div>
  )
}
