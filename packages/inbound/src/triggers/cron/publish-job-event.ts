import type { FleetEventBody } from '@flotilla/protocol/fleet-event'
import type { EventBus } from '@flotilla/foundation/events'
import type { CronJob } from './cron-job.ts'

/** The maximum length of an event's detail, in characters. The row has the full text. */
const detailMaxChars = 500

/** Publishes an event about a job. */
export function publishJobEvent(
  events: Pick<EventBus, 'publish'>,
  job: CronJob,
  change: Pick<Extract<FleetEventBody, { type: 'cron.changed' }>, 'action' | 'detail'>,
): void {
  events.publish({
    type: 'cron.changed',
    agent_id: job.agent,
    job_id: job.id,
    action: change.action,
    schedule: job.schedule,
    detail: change.detail.slice(0, detailMaxChars),
  })
}
