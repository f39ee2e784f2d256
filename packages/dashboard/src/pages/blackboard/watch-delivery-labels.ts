import type { WatchDelivery } from '@flotilla/protocol/blackboard-limits'

/** How a watch of the blackboard notifies its agent. */
export const watchDeliveryLabels: Readonly<Record<WatchDelivery, string>> = {
  run: 'by a new run',
  steer: 'in its current run',
}
