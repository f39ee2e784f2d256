import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { screenPath } from '@flotilla/protocol/browser-endpoints'
import { asSentence, formatBytes } from '../../data/format.ts'
import { useAction, useLive, useMesh, useServices } from '../../data/use-mesh.ts'
import { Act } from '../../design/act.tsx'
import { Badge, Card, Empty, Failed, Loading } from '../../design/parts.tsx'
import { Drawn } from '../seen-pictures.tsx'
import { formatBrowser, formatClosed } from './format-browser.ts'

/** Polling interval: no event reports that a browser starts or works. */
const everyMs = 4000
/** Polling interval: for this long the mesh returns the same picture to all viewers. */
const pictureEveryMs = 2000
const downloadsShown = 5
const stale = ['browsers', 'status'] as const

/** Shows an agent's browser, and the actions of a person on it. */
export function BrowserCard({ agentId, may }: { readonly agentId: string; readonly may: boolean }) {
  const browsers = useMesh('browsers', {}, { refetchInterval: everyMs })
  const browser = browsers.data?.browsers.find((one) => one.agent_id === agentId)
  const unavailable = browsers.data?.unavailable ?? null
  const { tone, words: label } = formatBrowser(browser)
  const hasTeaching = browsers.isSuccess && browser === undefined && (!may || unavailable !== null)
  return (
    <Card title="Browser" more={browsers.isSuccess && <Badge tone={tone}>{label}</Badge>}>
      {browsers.isPending && <Loading rows={2} />}
      {browsers.error && <Failed error={browsers.error} retry={browsers.refetch} />}
      {hasTeaching && (
        <Empty title={may ? 'This fleet has no browsers' : 'The agent may not use the web'}>
          {may ? (
            unavailable !== null && asSentence(unavailable)
          ) : (
            <>
              Give it <code>can_use_browser</code> under{' '}
              <Link href={`/agents/${encodeURIComponent(agentId)}?tab=permissions`}>Permissions</Link>, and it
              opens pages in a browser of its own.
            </>
          )}
        </Empty>
      )}
      {browsers.isSuccess && !hasTeaching && (
        <div className="body stack">
          {browser?.reason != null && <div className="note bad">{browser.reason}</div>}
          {browser?.state === 'live' && <Thumbnail agentId={agentId} />}
          {browser?.page ? (
            <dl className="facts">
              <dt>Page</dt>
              <dd className="plain-text">{browser.page.title || 'without a title'}</dd>
              <dt>Host</dt>
              <dd className="plain-text">{browser.page.host || 'none'}</dd>
              <dt>Tabs</dt>
              <dd className="number">{browser.page.tabs}</dd>
            </dl>
          ) : (
            <p className="small muted">The browser opens at its first use, or when you take over.</p>
          )}
          <Buttons
            agentId={agentId}
            isLive={browser?.state === 'live'}
            canClose={browser?.state === 'live' || browser?.state === 'opening'}
            handOver={browser?.hand_over ?? null}
          />
          <Downloads agentId={agentId} />
        </div>
      )}
    </Card>
  )
}

/** A picture of the screen, renewed while this page is open; nothing is shown if the mesh has no picture. */
function Thumbnail({ agentId }: { readonly agentId: string }) {
  const { client } = useServices()
  const { data } = useQuery({
    queryKey: ['browserPicture', agentId],
    queryFn: ({ signal }) => client.bytes('browserPicture', { params: { id: agentId }, signal }),
    refetchInterval: pictureEveryMs,
    staleTime: 0,
    retry: false,
  })
  return data === undefined ? null : <Drawn bytes={data} words={`What the browser of ${agentId} shows`} />
}

function Buttons({
  agentId,
  isLive,
  canClose,
  handOver,
}: {
  readonly agentId: string
  readonly isLive: boolean
  readonly canClose: boolean
  readonly handOver: { readonly by: string | null } | null
}) {
  const take = useAction('browserTakeOver', {
    done: `You control the browser of ${agentId}; the agent waits.`,
    stale,
  })
  const give = useAction('browserGiveBack', { done: `${agentId} has its browser back.`, stale })
  const close = useAction('browserClose', { done: formatClosed, stale })
  const busy = take.isPending || give.isPending || close.isPending
  const parts = { params: { id: agentId } }
  return (
    <div className="row">
      {isLive && (
        <a className="button" href={screenPath(agentId)} target="_blank" rel="noreferrer">
          Whole screen
        </a>
      )}
      {(handOver === null || handOver.by === null) && (
        <Act
          call="browserTakeOver"
          agent={agentId}
          className={handOver === null ? 'button' : 'button primary'}
          disabled={busy}
          onClick={() => take.mutate(parts)}
        >
          Take over
        </Act>
      )}
      {handOver !== null && (
        <Act
          call="browserGiveBack"
          agent={agentId}
          className={handOver.by === null ? 'button' : 'button primary'}
          disabled={busy}
          onClick={() => give.mutate(parts)}
        >
          Give back
        </Act>
      )}
      {canClose && (
        <Act
          call="browserClose"
          agent={agentId}
          className="button"
          disabled={busy}
          onClick={() => close.mutate(parts)}
        >
          Close
        </Act>
      )}
    </div>
  )
}

/** Lists what the browser downloaded while this page was open. */
function Downloads({ agentId }: { readonly agentId: string }) {
  const { events } = useLive()
  const newest = events
    .flatMap(({ seq, body }) =>
      body.type === 'browser.downloaded' && body.agent_id === agentId ? [{ seq, ...body }] : [],
    )
    .slice(-downloadsShown)
    .toReversed()
  if (newest.length === 0) return null
  return (
    <section className="stack tight" aria-label="Downloaded lately">
      <h3 className="small muted">Downloaded lately</h3>
      {newest.map(({ seq, path, host, size_bytes: size }) => (
        <p key={seq} className="small plain-text">
          {path}{' '}
          <span className="muted">
            from {host}, {formatBytes(size)}
          </span>
        </p>
      ))}
    </section>
  )
}
