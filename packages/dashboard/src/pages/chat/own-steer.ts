import type { Reply } from '@flotilla/client/mesh-call'
import type { SteerView } from '@flotilla/protocol/steer'

/** Whether the person at this page wrote the message. Messages of the owner of the machine name no user. Pure. */
export function isOwnSteer(
  { origin }: Pick<SteerView, 'origin'>,
  me: Pick<Reply<'me'>, 'name' | 'role'>,
): boolean {
  return origin.user === undefined ? me.role === 'owner' : origin.user === me.name
}
