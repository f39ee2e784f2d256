import { browserHumanApi as api } from '@flotilla/protocol/browser-api'
import { browserHumanEndpoints as endpoints, screenEndpoints } from '@flotilla/protocol/browser-endpoints'
import { meshInternalApi, meshInternalEndpoints } from '@flotilla/protocol/mesh-internal-api'
import type { CaptchaSolverView } from '@flotilla/protocol/mesh-internal-api'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller, Guard } from '@flotilla/identity/access'
import { alreadySent, isUpgrade, sendHeld } from '@flotilla/identity/http'
import type { PeopleSurface, Surface } from '@flotilla/identity/http'
import type { ControlBrowser } from './control-browser.ts'
import type { SeenPicture } from './pictures.ts'
import type { Screens } from './screen.ts'
import { screenHeaders } from './screen-files.ts'
import type { ScreenFile } from './screen-files.ts'

/** The path at which noVNC opens its WebSocket. */
const socketPath = 'websockify'

export function browserPeopleRoutes(
  { bind }: PeopleSurface,
  use: {
    readonly control: ControlBrowser
    readonly picture: (caller: Caller, agentId: string) => Promise<SeenPicture>
    readonly unavailable: string | null
    readonly maxLive: () => number
  },
): void {
  const { control, picture, unavailable, maxLive } = use
  bind(endpoints.browsers, api.browsers, ({ caller }) => ({
    unavailable,
    max_live: maxLive(),
    browsers: control.list(caller),
  }))
  bind(endpoints.browserPicture, api.browserPicture, async ({ caller, params, reply }) =>
    sendHeld(reply, {
      name: 'browser.jpg',
      giveBack: () => {},
      ...(await picture(caller, params.id)),
    }),
  )
  bind(endpoints.browserClose, api.browserClose, ({ caller, params }) => control.close(caller, params.id))
  bind(endpoints.browserTakeOver, api.browserTakeOver, ({ caller, params, gone }) =>
    control.takeOver(caller, params.id, gone()),
  )
  bind(endpoints.browserGiveBack, api.browserGiveBack, ({ caller, params }) =>
    control.giveBack(caller, params.id),
  )
}

/** The routes for `doctor`. */
export function browserInternalRoutes(
  { bind }: Surface<Caller>,
  control: ControlBrowser,
  captchaSolver: () => CaptchaSolverView | null,
): void {
  bind(meshInternalEndpoints.browsersFailed, meshInternalApi.browsersFailed, ({ caller }) => ({
    browsers: control
      .list(caller)
      .flatMap(({ agent_id, reason }) => (reason === null ? [] : [{ agent_id, reason }])),
    captcha_solver: captchaSolver(),
  }))
}

export function screenRoutes(
  { bind }: PeopleSurface,
  use: {
    readonly guard: Guard
    readonly screens: Screens
    readonly requireAgent: (agentId: string) => void
    readonly files: () => Promise<ReadonlyMap<string, ScreenFile>>
  },
): void {
  bind(screenEndpoints.screen, {}, async ({ caller, params: { agent, path }, raw, reply }) => {
    use.guard(caller, { do: 'view-fleet' })
    use.requireAgent(agent)
    if (isUpgrade(raw.raw) || path === socketPath) {
      if (path !== socketPath) throw nothingThere()
      await use.screens.serve(caller, agent, { raw, reply })
      return alreadySent
    }
    const file = (await use.files()).get(path)
    if (!file) throw nothingThere()
    void reply.headers(screenHeaders).type(file.contentType)
    return file.bytes
  })
  const { screenPost, screenPut, screenPatch, screenDelete } = screenEndpoints
  for (const endpoint of [screenPost, screenPut, screenPatch, screenDelete]) {
    bind(endpoint, {}, ({ caller }) => {
      use.guard(caller, { do: 'view-fleet' })
      throw nothingThere()
    })
  }
}

function nothingThere(): Problem {
  return new Problem('not-found', { detail: 'the screen of a browser has no such file' })
}
