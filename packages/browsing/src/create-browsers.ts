import { join } from 'node:path'
import type { AgentRegistry, Agents, FleetConnection } from '@flotilla/fleet/agents'
import type { OpenCredentials } from '@flotilla/egress/credentials'
import type { Egress } from '@flotilla/egress/egress'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { Metric } from '@flotilla/identity/kernel'
import type { Runs } from '@flotilla/work/runs'
import { reasonOf } from '@flotilla/fleet/sandbox'
import type { SandboxRuntime } from '@flotilla/fleet/sandbox'
import type { Spending } from '@flotilla/inference/spending'
import { nowhere } from './no-containers.ts'
import { createActInBrowser } from './act.ts'
import { createBrowserFiles } from './browser-files.ts'
import { createAnswerCaptchas } from './captcha/answer-captchas.ts'
import { httpCaptchaSolver } from './captcha/http-captcha-solver.ts'
import { readSolverKeys } from './captcha/solver-keys.ts'
import { createSolverStateTable } from './captcha/solver-state-table.ts'
import { createBrowserProxyOpener } from './browser-proxy.ts'
import { createBrowserTokens } from './browser-tokens.ts'
import { createControlBrowser } from './control-browser.ts'
import { createHandOvers } from './hand-overs.ts'
import { httpBrowserService } from './http-browser-service.ts'
import { createPictures } from './pictures.ts'
import { createScreens } from './screen.ts'
import { takesPlace } from './session-state.ts'
import { endOf } from './open-session.ts'
import { createBrowserSessions } from './sessions.ts'
import { createWithheld } from './withheld.ts'
import type { WorkKernel } from '@flotilla/work/events'

/** The interval between two checks of the browsers, in milliseconds. */
const sweepEveryMs = 2000
/** How long the mesh waits for browsers to close when it stops, in milliseconds. The next start removes the rest. */
const closeAllWithinMs = 15_000

export type LoadedBrowsers = ReturnType<typeof createBrowsers>

export interface BrowserDeps {
  readonly runtime: Pick<SandboxRuntime, 'browsers' | 'onEngineBack'>
  readonly agents: Pick<Agents, 'meshIdentity'> & {
    readonly registry: Pick<AgentRegistry, 'find' | 'require' | 'list' | 'isArchived'>
    readonly connection: Pick<FleetConnection, 'reach'>
  }
  readonly runs: Pick<Runs, 'delivery' | 'holdLease'>
  readonly egress: Pick<Egress, 'browsers' | 'fetchForMesh'>
  readonly spending: Pick<Spending, 'reserve' | 'settle' | 'refund'>
  /** The environment of the process, from which the CAPTCHA solver's keys are read, and never from a file. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly openCredentials: OpenCredentials
  /** The agents' shares of the event loop, to which reading and cleaning the answers of their browsers is charged. */
  readonly shares: { readonly calls: Pick<LoopShare, 'spend'> }
  readonly briefsFolder: string
}

/** Runs a browser for each agent, each in its own container. People can watch and control the browsers. */
export function createBrowsers(kernel: WorkKernel, needs: BrowserDeps) {
  const { fleetEvents, workEvents, clock, settings } = kernel
  const agents = { ...needs.agents.registry, ...needs.agents.connection }
  const { browsers } = needs.egress
  const containers = needs.runtime.browsers ?? nowhere
  const stopped = new AbortController()
  const tokens = createBrowserTokens(kernel.randomToken)
  browsers.identifyBy(tokens.ownerOf)
  const handOvers = createHandOvers({
    ...kernel,
    notifyRun: needs.runs.delivery.notifyRun,
    notifyOwner: fleetEvents.ownerNoticed.publish,
  })
  const identity = needs.agents.meshIdentity
  const way = createBrowserProxyOpener({
    containers,
    proxy: browsers.proxy,
    stopped: stopped.signal,
    clock,
    onOpen: (port) => kernel.ports.open.push(port),
  })
  const withheld = createWithheld({ ...agents, decide: kernel.decide })
  const sessions = createBrowserSessions({
    ...kernel,
    containers,
    openService: httpBrowserService(identity.signFor, needs.shares.calls),
    tokens,
    openProxy: way.open,
    publicKeyBase64url: identity.publicKeyBase64url,
    briefsFolder: join(needs.briefsFolder, '.browsers'),
    maxLive: () => settings().browser.max_live,
    withheld,
    profileLimitBytes: () => settings().browser.profile_limit_mb * 1024 * 1024,
    onGone: (agentId) => {
      const handOver = handOvers.of(agentId)
      if (handOver !== null) handOvers.end(handOver, { how: 'lost', page: null, by: 'system' })
    },
  })
  const requireAgent = (agentId: string) => void agents.require(agentId)
  const control = createControlBrowser({
    ...kernel,
    sessions,
    handOvers,
    requireAgent,
    withheld,
    endedOf: async (agentId) => {
      const container = await containers.inspect(agentId)
      return container?.running === true ? null : endOf(container)
    },
    idleMs: () => settings().browser.idle_minutes * 60_000,
  })
  const screens = createScreens({ ...kernel, sessions })
  const solverKeys = readSolverKeys(needs.env)
  const captchas = createAnswerCaptchas({
    ...kernel,
    keys: solverKeys,
    solve: httpCaptchaSolver({ fetch: needs.egress.fetchForMesh, clock }),
    captchaSettings: () => settings().browser.captcha,
    state: createSolverStateTable(kernel.database),
    spending: needs.spending,
    handOvers,
    serviceOf: (agentId) => sessions.of(agentId).service,
    giveBack: (handOver) => control.end(handOver, 'solved', 'system'),
    tellOwner: fleetEvents.ownerNoticed.publish,
    stopped: stopped.signal,
  })
  const act = createActInBrowser({
    ...kernel,
    loop: needs.shares.calls,
    sessions,
    handOvers,
    captchas,
    files: createBrowserFiles({ agents, clock }),
    credentials: needs.openCredentials,
    holdLease: needs.runs.holdLease,
  })
  workEvents.runAwaits.subscribe(handOvers.awaitedBy)
  workEvents.runSettled.subscribe(({ agentId, id }) => handOvers.runSettled(agentId, id))
  fleetEvents.agentDeleted.subscribe(handOvers.forget)
  fleetEvents.agentFilesDropped.subscribe(sessions.forget)
  /** Checks the isolation of running browsers, and closes all of them if the check fails. */
  const holdWalls = async (): Promise<void> => {
    const live = sessions.list().filter(([, { state }]) => state.kind === 'live')
    if (live.length === 0) return
    try {
      await way.open()
    } catch (error) {
      if (stopped.signal.aborted) return
      const why = reasonOf(error).split('\n')[0] ?? ''
      kernel.log.error({ err: error }, 'closed all browsers: an isolation check failed; the next use retries')
      await Promise.all(live.map(([agentId]) => sessions.lost(agentId, why)))
    }
  }
  // The engine was unreachable and may have re-created networks and firewall rules, so the isolation is tested again.
  const unsubscribe = needs.runtime.onEngineBack(() => {
    way.doubt()
    void holdWalls()
  })
  const closeAll = async (): Promise<void> => {
    const open = sessions.list().filter(([, { state }]) => takesPlace(state))
    const late = new AbortController()
    await Promise.race([
      Promise.allSettled(open.map(([agentId]) => sessions.close(agentId, 'the mesh stops'))),
      clock.sleep(closeAllWithinMs, late.signal).catch(() => undefined),
    ])
    late.abort()
  }

  return {
    act,
    control,
    screens,
    picture: createPictures({ ...kernel, sessions, requireAgent }),
    requireAgent,
    /** Returns the solver of CAPTCHAs; null if the owner has not set one up. */
    captchaSolver: () => {
      if (solverKeys === null) return null
      const { solver_url: url, per_hour, daily_usd } = settings().browser.captcha
      return { host: new URL(url).host, per_hour, daily_usd, rests_until: captchas.restsUntil() }
    },
    metrics: (): Metric[] => [
      {
        name: 'flotilla_browsers',
        kind: 'gauge',
        description: 'Browsers of agents by state',
        samples: (['opening', 'live', 'closing', 'failed'] as const).map((state) => ({
          labels: { state },
          value: sessions.list().filter(([, session]) => session.state.kind === state).length,
        })),
      },
      {
        name: 'flotilla_browser_watchers',
        kind: 'gauge',
        description: 'People who look at browsers of agents',
        samples: [{ value: screens.open() }],
      },
      {
        name: 'flotilla_captchas_total',
        kind: 'counter',
        description:
          'CAPTCHAs since the mesh started where a solver is set up: solved, failed, or left to a person at once',
        samples: Object.entries(captchas.counts()).map(([outcome, value]) => ({
          labels: { outcome },
          value,
        })),
      },
    ],
    begin: () => {
      for (const handOver of handOvers.list())
        handOvers.end(handOver, { how: 'lost', page: null, by: 'system' })
    },
    run: async (signal: AbortSignal) => {
      while (!signal.aborted) {
        await clock.sleep(sweepEveryMs, signal).catch(() => undefined)
        if (signal.aborted) return
        await holdWalls()
        await control.sweep().catch((error: unknown) => {
          kernel.log.warn({ err: error }, 'failed to check the browsers; retrying')
        })
      }
    },
    stop: async () => {
      unsubscribe()
      stopped.abort(new Error('the mesh stops'))
      screens.cutAll()
      await captchas.settled()
      await closeAll()
      await browsers.proxy.close()
    },
  }
}
