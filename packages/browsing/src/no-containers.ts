import { Problem } from '@flotilla/protocol/problem'
import type { BrowserContainers } from '@flotilla/fleet/sandbox'

/** Why a fleet has no browsers. */
export const noBrowsers =
  'agents run as plain processes in this fleet, and browsers need containers: start Flotilla without --runtime process'

/** Used where browsers are not available: no browser can be opened, so no browser has to be closed. */
export const nowhere: BrowserContainers = {
  prepare: () => Promise.reject(new Problem('browser-unavailable', { detail: noBrowsers })),
  proxyPlace: () => ({ host: '', port: 0 }),
  checkWalls: async () => [],
  start: () => Promise.reject(new Problem('browser-unavailable', { detail: noBrowsers })),
  inspect: async () => null,
  stop: async () => {},
  removeProfile: async () => {},
  removeAll: async () => {},
}
