import { Link } from 'wouter'
import { formatBytes } from '../../data/format.ts'
import { useMesh } from '../../data/use-mesh.ts'
import { runTone } from '../../live/draw-event.ts'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'

/** Files whose changes start work. */
export function Watchers() {
  const watchers = useMesh('watchers')
  const fired = useMesh('watcherHistory', { query: { limit: 20 } })
  return (
    <Card title="Watched files">
      {watchers.isPending && <Loading />}
      {watchers.error && <Failed error={watchers.error} retry={watchers.refetch} />}
      {watchers.data?.broken != null && <Failed error={new Error(watchers.data.broken)} />}
      {watchers.data?.watchers.length === 0 && (
        <Empty title="No folder is watched">
          Name one in <code>config/watchers.yaml</code>; a file that is new or changed there becomes a run.
        </Empty>
      )}
      <ul className="stack body">
        {watchers.data?.watchers.map((watch) => (
          <li key={watch.id} className="stack">
            <div className="row apart">
              <span className="mono">
                {watch.path}/{watch.pattern}
              </span>
              <span>
                {watch.agent} <span className="muted">{watch.fired} fired</span>
              </span>
            </div>
            <div className="row small muted">
              <span>{watch.files === null ? 'not looked at yet' : `${watch.files} files match`}</span>
              {watch.waiting > 0 && <span>{watch.waiting} changes wait</span>}
              {watch.passed_over > 0 && <span>{watch.passed_over} passed over by its condition</span>}
              {watch.when !== null && <span>only when {watch.when}</span>}
              {watch.looked_at !== null && (
                <span>
                  looked at <Ago at={watch.looked_at} />
                </span>
              )}
            </div>
            {watch.trouble !== null && <div className="note warn small">{watch.trouble}</div>}
            {watch.held !== null && <div className="note warn small">{watch.held}</div>}
          </li>
        ))}
        {fired.data?.fired.map((one) => (
          <li key={one.run_id} className="row small">
            <Ago at={one.fired_at} />
            <Link href={`/runs/${one.run_id}`}>{one.filepath}</Link>
            <span className="muted">
              {one.change}, {formatBytes(one.size_bytes)}
            </span>
            {one.state !== null && <Badge tone={runTone(one.state)}>{one.state}</Badge>}
          </li>
        ))}
      </ul>
    </Card>
  )
}
