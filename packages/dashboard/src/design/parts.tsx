import type { ReactNode } from 'react'
import { describeError } from '../app/toasts.ts'
import { formatDistance, formatDuration, formatMoment } from '../data/format.ts'
import { useGoneSince } from '../data/use-mesh.ts'
import { useNow } from '../data/use-now.ts'
import { RepairLink } from './repair.tsx'
import type { Tone } from '../live/state-tone.ts'

export function Badge({
  tone = 'neutral',
  children,
}: {
  readonly tone?: Tone
  readonly children: ReactNode
}) {
  return <span className={`badge ${tone}`}>{children}</span>
}

/** A colored dot; text beside it says what the color means. */
export function Dot({ tone }: { readonly tone: Tone }) {
  return <span className={`dot ${tone}`} aria-hidden="true" />
}

export function Card({
  title,
  more,
  children,
}: {
  readonly title: string
  readonly more?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <section className="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {more}
      </header>
      {children}
    </section>
  )
}

export function PageHead({ title, children }: { readonly title: ReactNode; readonly children?: ReactNode }) {
  return (
    <div className="page-head">
      <h1>{title}</h1>
      <div className="row">{children}</div>
    </div>
  )
}

/** A placeholder for an empty list, with a hint how to fill it. */
export function Empty({ title, children }: { readonly title: string; readonly children?: ReactNode }) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      <p>{children}</p>
    </div>
  )
}

/** Shows an error with the mesh's detail and repair. While the mesh is gone, the banner above the page has both. */
export function Failed({ error, retry }: { readonly error: unknown; readonly retry?: () => unknown }) {
  const isGone = useGoneSince() !== null
  const { title, repair, code } = describeError(error)
  if (isGone && retry)
    return <p className="body small muted">Not loaded yet. It is loaded when the mesh answers.</p>
  return (
    <div className="note bad" role="alert">
      <strong>{title}</strong>
      {repair !== undefined && <span>{repair}</span>}
      {(retry || code !== undefined) && (
        <div className="row">
          {code !== undefined && <RepairLink code={code} />}
          {retry && (
            <button type="button" className="button small" onClick={() => void retry()}>
              Try again
            </button>
          )}
        </div>
      )}
    </div>
  )
}

export function Loading({ rows = 4 }: { readonly rows?: number }) {
  return (
    <div className="skeletons" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="skeleton" />
      ))}
    </div>
  )
}

/** Shows how long ago or until a time is; the tooltip shows the timestamp. */
export function Ago({ at }: { readonly at: number }) {
  const now = useNow()
  return (
    <time dateTime={new Date(at).toISOString()} title={formatMoment(at)} className="number">
      {formatDistance(at, now)}
    </time>
  )
}

/** Shows for how long a state has lasted; the tooltip shows since when. */
export function HowLong({ since }: { readonly since: number }) {
  const now = useNow()
  return (
    <time dateTime={new Date(since).toISOString()} title={formatMoment(since)} className="number">
      {formatDuration(Math.max(0, Math.round((now - since) / 1000) * 1000))}
    </time>
  )
}

/** A bar for a share, with the number as text. */
export function Bar({ part, label }: { readonly part: number; readonly label: string }) {
  const percent = Math.max(0, Math.min(100, Math.round(part * 100)))
  const tone = percent >= 100 ? 'bad' : percent >= 80 ? 'warn' : ''
  return (
    <div
      className={`bar ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <span style={{ width: `${percent}%` }} />
    </div>
  )
}

/** Shows text or JSON unchanged, in limited height. */
export function Code({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  return (
    // A part that scrolls must be reachable by keyboard.
    <pre className="code" tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
  )
}

/** A table that may be wider than the page; a part that scrolls must be reachable by keyboard. */
export function Scrolls({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  )
}
