import { channelEndpoints as endpoints, channelsApi as api } from '@flotilla/protocol/channels-api'
import type { PeopleSurface } from '../http/index.ts'
import type { ManageChannels } from './manage-channels.ts'

export function channelPeopleRoutes({ bind }: PeopleSurface, manage: ManageChannels): void {
  bind(endpoints.channels, api.channels, ({ caller }) => ({ channels: manage.list(caller) }))
  bind(endpoints.channelPair, api.channelPair, ({ caller, params }) => manage.pair(caller, params.name))
}
