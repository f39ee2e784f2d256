import { browserHumanApi as api } from '@flotilla/protocol/browser-api'
import { browserHumanEndpoints as endpoints, screenEndpoints } from '@flotilla/protocol/browser-endpoints'
import { meshInternalApi, meshInternalEndpoints } from '@flotilla/protocol/mesh-internal-api'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { alreadySent, isUpgrade, sendHeld } from '@flotilla/identity/http'
import type { PeopleSurface, Surface } from '@flotilla/identity/http'
import type { LoadedBrowsers } from './create-browsers.ts'
import { screenHeaders } from './screen-files.ts'
import type { ScreenFile } from './screen-files.ts'

/** The path at which noVNC opens its WebSocket. */
const socketPath = 'websockify'

export function browserPeopleRoutes(
  { bind }: PeopleSurface,
  {
    guard,
    use,
    loaded,
    ...about
  }: {
    readonly guard: Guard
    /** Loads the browsers. */
    readonly use: () => Promise<LoadedBrowsers>
    /** Returns the browsers; null while no browser was used. */
    readonly loaded: () => LoadedBrowsers | null
    readonly unavailable: string | null
    readonly maxLive: () => number
  },
): void {
  bind(endpoints.browsers, api.browsers, ({ caller }) => {
    guard(caller, { do: 'view-fleet' })
    const browsers = loaded()?.control.list(caller) ?? []
    return { unavailable: about.unavailable, max_live: about.maxLive(), browsers }
  })
  bind(endpoints.browserPicture, api.browserPicture, async ({ caller, params, reply }) => {
    const { picture } = await use()
    return sendHeld(reply, { name: 'browser.jpg', giveBack: () => {}, ...(await picture(caller, params.id)) })
  })
  bind(endpoints.browserClose, api.browserClose, async ({ caller, params }) => {
    const { control } = await use()
    return control.close(caller, params.id)
  })
  bind(endpoints.browserTakeOver, api.browserTakeOver, async ({ caller, params, gone }) => {
    const { control } = await use()
    return control.takeOver(caller, params.id, gone())
  })
  bind(endpoints.browserGiveBack, api.browserGiveBack, async ({ caller, params }) => {
    const { control } = await use()
    return control.giveBack(caller, params.id)
  })
}

/** The routes for `doctor`. `known` returns the browsers; null if there is nothing to report. */
export function browserInternalRoutes(
  { bind }: Surface<Caller>,
  { guard, known }: { readonly guard: Guard; readonly known: () => Promise<LoadedBrowsers | null> },
): void {
  bind(meshInternalEndpoints.browsersFailed, meshInternalApi.browsersFailed, async ({ caller }) => {
    guard(caller, { do: 'view-fleet' })
    const browsers = await known()
    return {
      browsers: (browsers?.control.list(caller) ?? []).flatMap(({ agent_id, reason }) =>
        reason === null ? [] : [{ agent_id, reason }],
      ),
      captcha_solver: browsers?.captchaSolver() ?? null,
    }
  })
}

export function screenRoutes(
  { bind }: PeopleSurface,
  {
    guard,
    use,
    files,
  }: {
    readonly guard: Guard
    readonly use: () => Promise<LoadedBrowsers>
    readonly files: () => Promise<ReadonlyMap<string, ScreenFile>>
  },
): void {
  bind(screenEndpoints.screen, {}, async ({ caller, params: { agent, path }, raw, reply }) => {
    guard(caller, { do: 'view-fleet' })
    const { screens, requireAgent } = await use()
    requireAgent(agent)
    if (isUpgrade(raw.raw) || path === socketPath) {
      if (path !== socketPath) throw nothingThere()
      await screens.serve(caller, agent, { raw, reply })
      return alreadySent
    }
    const file = (await files()).get(path)
    if (!file) throw nothingThere()
    void reply.headers(screenHeaders).type(file.contentType)
    return file.bytes
  })
  const { screenPost, screenPut, screenPatch, screenDelete } = screenEndpoints
  for (const endpoint of [screenPost, screenPut, screenPatch, screenDelete]) {
    bind(endpoint, {}, ({ caller }) => {
      guard(caller, { do: 'view-fleet' })
      throw nothingThere()
    })
  }
}

function nothingThere(): Problem {
  return new Problem('not-found', { detail: 'the screen of a browser has no such file' })
}
