import { useState } from 'react'
import { Link } from 'wouter'
import type { WatcherFields, WatchView } from '@flotilla/protocol/watch-api'
import { formatBytes } from '../../data/format.ts'
import { useAction, useMesh, useServices } from '../../data/use-mesh.ts'
import { runTone } from '../../live/draw-event.ts'
import { Act } from '../../design/act.tsx'
import { Ago, Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { WatcherForm } from './watcher-form.tsx'

/** The polling interval: the mesh checks folders as often, and publishes no event for a check without error. */
const pollEveryMs = 5000

/** Lists file watchers, whose file changes start runs. */
export function Watchers() {
  const watchers = useMesh('watchers', {}, { refetchInterval: pollEveryMs })
  /** The id of the watcher that is edited; empty for a new one. */
  const [changing, setChanging] = useState<string | null>(null)
  const one = watchers.data?.watchers.find(({ id }) => id === changing)
  const fired = useMesh('watcherHistory', { query: { limit: 20 } })
  return (
    <Card
      title="Watched files"
      more={
        <Act call="watcherChange" className="button small" onClick={() => setChanging('')}>
          New folder …
        </Act>
      }
    >
      {watchers.isPending && <Loading />}
      {watchers.error && <Failed error={watchers.error} retry={watchers.refetch} />}
      {watchers.data?.broken != null && <Failed error={new Error(watchers.data.broken)} />}
      {watchers.data?.watchers.length === 0 && (
        <Empty title="No folder is watched">
          Choose one above: each file that is new or changed there becomes a run.
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
              <span>{watch.files === null ? 'not checked yet' : `${watch.files} files match`}</span>
              {watch.waiting > 0 && <span>{watch.waiting} changes wait</span>}
              {watch.passed_over > 0 && <span>{watch.passed_over} passed over by its condition</span>}
              {watch.when !== null && <span>only when {watch.when}</span>}
              {watch.looked_at !== null && (
                <span>
                  checked <Ago at={watch.looked_at} />
                </span>
              )}
            </div>
            <WatcherButtons watch={watch} onChange={() => setChanging(watch.id)} />
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
      {changing !== null && (
        <WatcherForm
          key={changing}
          watcher={one === undefined ? null : fieldsOf(one)}
          onClose={() => setChanging(null)}
        />
      )}
    </Card>
  )
}

function WatcherButtons({ watch, onChange }: { readonly watch: WatchView; readonly onChange: () => void }) {
  const { client } = useServices()
  const before = fieldsOf(watch)
  const remove = useAction('watcherChange', {
    done: `${watch.path} is no longer watched.`,
    stale: ['watchers'],
    undo: () => ({
      by: 'watcherChange',
      run: () => client.call('watcherChange', { body: { before: null, after: before } }),
      done: `${watch.path} is watched again; files that exist now start no runs.`,
    }),
  })
  return (
    <div className="row">
      <Act call="watcherChange" className="button small" onClick={onChange}>
        Change …<span className="hidden-words"> {watch.path}</span>
      </Act>
      <Act
        call="watcherChange"
        className="button small quiet"
        disabled={remove.isPending}
        onClick={() => remove.mutate({ body: { before, after: null } })}
      >
        Stop watching<span className="hidden-words"> {watch.path}</span>
      </Act>
    </div>
  )
}

function fieldsOf({ path, pattern, agent, message, when }: WatchView): WatcherFields {
  return { path, pattern, agent, message, when }
}
