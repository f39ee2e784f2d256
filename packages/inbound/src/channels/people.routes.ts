import { channelEndpoints as endpoints, channelsApi as api } from '@flotilla/protocol/channels-api'
import { meshInternalApi, meshInternalEndpoints } from '@flotilla/protocol/mesh-internal-api'
import type { Caller } from '@flotilla/identity/access'
import type { PeopleSurface, Surface } from '@flotilla/identity/http'
import type { ManageChannels } from './manage-channels.ts'
import { requiredChannel } from './required-channel.ts'
import type { SetUpChannels } from './set-up-channels.ts'

export function channelPeopleRoutes(
  { bind }: PeopleSurface,
  { manage, setUp }: { readonly manage: ManageChannels; readonly setUp: SetUpChannels },
): void {
  bind(endpoints.channels, api.channels, ({ caller }) => manage.list(caller))
  bind(endpoints.channelAdd, api.channelAdd, async ({ caller, params, body, gone }) => {
    const added = await setUp.add(caller, { ...params, ...body }, gone())
    return { ...added, channel: manage.viewOf(requiredChannel(params.name)) }
  })
  bind(endpoints.channelRemove, api.channelRemove, ({ caller, params }) => setUp.remove(caller, params.name))
  bind(endpoints.channelNotices, api.channelNotices, ({ caller, body }) => setUp.setNotices(caller, body))
  bind(endpoints.channelPair, api.channelPair, ({ caller, params }) => manage.pair(caller, params.name))
}

/** The route for `doctor`. */
export function channelInternalRoutes({ bind }: Surface<Caller>, manage: ManageChannels): void {
  bind(meshInternalEndpoints.channelsTroubled, meshInternalApi.channelsTroubled, () => ({
    channels: [...manage.troubled()],
  }))
}
