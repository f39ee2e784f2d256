import { Link } from 'wouter'
import type { DeliveryState, DeliveryView, WebhookView } from '@flotilla/protocol/webhook-api'
import { formatBytes, formatCount } from '../../data/format.ts'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { Ago, Badge, Code, Empty, Failed, Loading } from '../../design/parts.tsx'
import type { Tone } from '../../live/state-tone.ts'

const shownMax = 50

const tones: Readonly<Record<DeliveryState, Tone>> = {
  accepted: 'ok',
  duplicate: 'neutral',
  skipped: 'neutral',
  refused: 'bad',
  limited: 'warn',
}

/** Lists the deliveries of a webhook, newest first, with their results. */
export function Deliveries({ hook }: { readonly hook: WebhookView }) {
  const deliveries = useMesh('webhookDeliveries', { params: { id: hook.id }, query: { limit: shownMax } })
  const all = deliveries.data?.deliveries ?? []
  return (
    <div className="body stack">
      {deliveries.isPending && <Loading />}
      {deliveries.error && <Failed error={deliveries.error} retry={deliveries.refetch} />}
      {deliveries.isSuccess && all.length === 0 && (
        <Empty title="No deliveries yet">“Send a test” sends one from here.</Empty>
      )}
      <ul className="stack" aria-label={`Deliveries of ${hook.name}`}>
        {all.map((one) => (
          <Delivery key={one.delivery} delivery={one} />
        ))}
      </ul>
    </div>
  )
}

function Delivery({ delivery }: { readonly delivery: DeliveryView }) {
  const replay = useAction('webhookReplay', {
    done: 'The delivery was repeated.',
    stale: ['webhooks', 'webhookDeliveries'],
  })
  const { hook_id: id, state, way, reason, run_id, outcome, payload, count } = delivery
  return (
    <li className="stack">
      <div className="row apart">
        <span className="row">
          <Badge tone={tones[state]}>{state}</Badge>
          <span className="small muted">
            {way === 'sender' ? 'from outside' : `by ${way}`}, {formatBytes(delivery.size_bytes)}
            {count > 1 && `, ${formatCount(count, 'time')}`}, <Ago at={delivery.at} />
          </span>
        </span>
        <span className="row">
          {run_id !== null && <Link href={`/runs/${run_id}`}>Run{outcome !== null && `: ${outcome}`}</Link>}
          {delivery.replayable && (
            <button
              type="button"
              className="button small"
              disabled={replay.isPending}
              onClick={() => replay.mutate({ params: { id, delivery: String(delivery.delivery) } })}
            >
              Replay
            </button>
          )}
        </span>
      </div>
      {reason !== null && <div className="small muted">{reason}</div>}
      {payload !== null && (
        <details>
          <summary className="small">Message to the agent</summary>
          <Code value={payload} label={`What was delivered, number ${delivery.delivery}`} />
        </details>
      )}
    </li>
  )
}
