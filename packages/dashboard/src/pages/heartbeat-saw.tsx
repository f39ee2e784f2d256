import type { HeartbeatFire } from '@flotilla/protocol/heartbeat-api'
import { Link } from 'wouter'
import { Ago } from '../design/parts.tsx'
import { describeHeartbeat, heartbeatSights } from './describe-heartbeat.ts'

/** Says why the last heartbeat ran or was skipped, and what it saw. */
export function HeartbeatSaw({ fire }: { readonly fire: HeartbeatFire }) {
  return (
    <div className="stack tight small">
      <p>
        <span className="muted">
          <Ago at={fire.at} />
        </span>{' '}
        {describeHeartbeat(fire)}{' '}
        {fire.run_id !== null && (
          <Link href={`/runs/${fire.run_id}`}>
            Its run<span className="hidden-words"> {fire.run_id}</span>
          </Link>
        )}
      </p>
      {fire.facts !== null && <p className="muted">It saw: {heartbeatSights(fire.facts).join(', ')}.</p>}
    </div>
  )
}
