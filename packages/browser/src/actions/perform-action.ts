import { browserActionParams } from '@flotilla/protocol/browser-service-api'
import type {
  BrowserAction,
  BrowserActionData,
  BrowserActionParams,
  BrowserActionReply,
  BrowserActionRequest,
  BrowserPage,
} from '@flotilla/protocol/browser-service-api'
import type { Clock } from '@flotilla/protocol/clock'
import type { Log } from '@flotilla/protocol/json-log'
import type { Live, LivingBrowser } from '../tabs/living-browser.ts'
import { ActionProblem, problemOf, translated } from './action-problem.ts'
import type { ActionQueue } from './action-queue.ts'
import type { Acts, ActionScene } from './action.ts'
import { files } from './files.ts'
import { hostOf } from './find-captcha.ts'
import { keyboard } from './keyboard.ts'
import { navigation } from './navigation.ts'
import { picturing } from './screenshot.ts'
import { pointer } from './pointer.ts'
import { searching } from './searching.ts'
import { looking } from './snapshot.ts'

const acts: Acts<Exclude<BrowserAction, 'reset'>> = {
  ...navigation,
  ...pointer,
  ...keyboard,
  ...looking,
  ...searching,
  ...picturing,
  ...files,
}

export interface ActionDeps {
  readonly browser: LivingBrowser
  readonly queue: ActionQueue
  readonly scrub: (text: string) => string
  /** True if a person controls the pointer and the keyboard. */
  readonly isPersonInControl: () => boolean
  readonly clock: Clock
  readonly log: Log
}

export type PerformAction = (name: string, request: BrowserActionRequest) => Promise<BrowserActionReply>

const titleMaxChars = 300
const urlMaxChars = 4096
const answerMaxMs = 2000
/** How long to wait for the browser's exit after a tab crashed, in milliseconds. */
const noticeMaxMs = 500
/** A failure with less time left than this counts as a missed deadline, in milliseconds. */
const lastMs = 50

/** Carries out actions one at a time and returns the result or a problem. Never rejects. */
export function createPerformAction(deps: ActionDeps): PerformAction {
  const { browser, queue, clock } = deps

  async function perform(
    name: BrowserAction,
    raw: unknown,
    deadline: number,
  ): Promise<Record<string, unknown>> {
    const params = browserActionParams[name].safeParse(raw)
    if (!params.success)
      throw new ActionProblem('bad-params', `${name}: ${describeIssues(params.error.issues)}`)
    return queue.run(async () => {
      if (deps.isPersonInControl())
        throw new ActionProblem(
          'person-in-control',
          'A person controls the browser. Wait until they give it back.',
          10_000,
        )
      if (clock.now() >= deadline) throw late()
      if (name === 'reset') await browser.forget()
      const live = await browser.use()
      const left = (): number => Math.max(1, deadline - clock.now())
      const page = await frontTab(live, left())
      const scene: ActionScene = { live, page, clock, left, find: (ref) => live.references.find(page, ref) }
      const result = name === 'reset' ? {} : await inTime(scene, guarded(scene, name, params.data))
      const data = { ...result, ...live.tabs.happened(), page: await describePage(live) }
      browser.note()
      return clean(data, deps.scrub)
    })
  }

  /** Opens a tab if none is open; a browser that does not open it in time ends, and the next action starts it again. */
  async function frontTab(live: Live, maxMs: number): Promise<Page> {
    const patience = new AbortController()
    const tooLate = clock.sleep(maxMs, patience.signal).then(() => null)
    tooLate.catch(() => undefined)
    const opened = live.tabs.active()
    opened.catch(() => undefined)
    const page = await Promise.race([opened, tooLate, endOf(live)])
    patience.abort()
    if (page !== null) return page
    deps.log.warn({}, 'failed to open a tab in time; the next action restarts the browser')
    void browser.close().catch(() => undefined)
    throw late()
  }

  async function describePage(live: Live): Promise<BrowserPage> {
    const front = await frontTab(live, answerMaxMs)
    const silent = clock.sleep(answerMaxMs).then(() => '')
    const title = await Promise.race([front.title().catch(() => ''), silent])
    const url = front.url()
    return {
      url: live.secrets.scrub(url).slice(0, urlMaxChars),
      title: live.secrets.scrub(title).slice(0, titleMaxChars),
      host: hostOf(url),
      tab_index: live.tabs.index(),
      tabs: live.tabs.pages.length,
    }
  }

  /** Clears the selection of a page that may show a secret, so that the next page cannot paste it. */
  async function guarded(scene: ActionScene, name: Exclude<BrowserAction, 'reset'>, params: unknown) {
    const { copyGuard, tabs } = scene.live
    await copyGuard.settle(scene.page)
    const result = await act(name, scene, params)
    await copyGuard.settle(await tabs.active())
    return result
  }

  /** Limits the work in time. Each step has this deadline too; this limit covers pages that do not respond at all. */
  async function inTime<T>({ page, live, left }: ActionScene, work: Promise<T>): Promise<T> {
    const patience = new AbortController()
    const tooLate = clock.sleep(left() + 50, patience.signal).then(
      () => {
        throw late()
      },
      () => work,
    )
    try {
      return await Promise.race([work, tooLate, endOf(live)])
    } catch (error) {
      work.catch(() => undefined)
      const problem = translated(error)
      // Waits for the end of the crashed browser, so that the next action does not use it.
      if (problem.code === 'browser-crashed')
        await Promise.race([live.launched.ended, clock.sleep(noticeMaxMs)])
      if (left() > lastMs || problem.code === 'browser-crashed') throw error
      await closeIfDead(page, live)
      throw late()
    } finally {
      tooLate.catch(() => undefined)
      patience.abort()
    }
  }

  /**
   * Closes a tab that does not respond, because it would block every later action too. Tabs share processes, so where
   * it cannot be closed, the browser ends, and the next action starts it again.
   */
  async function closeIfDead(page: Page, live: Live): Promise<void> {
    const answers = page.evaluate('1').then(
      () => true,
      () => true,
    )
    const silent = clock.sleep(answerMaxMs).then(() => false)
    if (await Promise.race([answers, silent])) return
    live.tabs.notice('A tab did not answer and was closed.')
    const closed = live.tabs.close(page).then(
      () => true,
      () => true,
    )
    if (await Promise.race([closed, clock.sleep(answerMaxMs).then(() => false)])) return
    deps.log.warn({}, 'failed to close a tab that does not answer; the next action restarts the browser')
    void browser.close().catch(() => undefined)
  }

  return async (name, { params, deadline_ms: deadlineMs }) => {
    try {
      if (!isAction(name)) throw new ActionProblem('bad-params', `There is no action ${name.slice(0, 50)}.`)
      return { ok: true, data: await perform(name, params, clock.now() + deadlineMs) }
    } catch (error) {
      if (isDefect(error))
        deps.log.error(
          { err: error, action: name },
          'internal error in a browser action; the agent receives an error',
        )
      const problem = isDefect(error)
        ? new ActionProblem('internal', 'Internal error of the browser service.')
        : translated(error)
      return { ok: false, problem: problemOf(problem, deps.scrub) }
    }
  }
}

type Page = ActionScene['page']

function isAction(name: string): name is BrowserAction {
  return Object.hasOwn(browserActionParams, name)
}

function act<Name extends Exclude<BrowserAction, 'reset'>>(
  name: Name,
  scene: ActionScene,
  params: unknown,
): Promise<Omit<BrowserActionData[Name], 'page' | 'dialogs' | 'notices'>> {
  // `perform` has parsed the parameters with the schema of this action.
  return acts[name](scene, params as BrowserActionParams[Name])
}

/** Rejects when the browser exits. */
async function endOf(live: Live): Promise<never> {
  await live.launched.ended
  throw new ActionProblem(
    'browser-crashed',
    'The browser ended during the action. The next action starts the browser again and restores its tabs.',
  )
}

function late(): ActionProblem {
  return new ActionProblem('deadline-passed', 'The action did not finish in time and was stopped.')
}

/** Returns true for built-in error types, which indicate a bug here; Playwright's errors have their own class. */
function isDefect(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
}

/** Binary data of files and pictures is passed unchanged; secrets are removed from all text beside it. */
function clean(data: Record<string, unknown>, scrub: (text: string) => string): Record<string, unknown> {
  const cleaned = (value: unknown): unknown => {
    if (typeof value === 'string') return scrub(value)
    if (Array.isArray(value)) return value.map(cleaned)
    return typeof value === 'object' && value !== null ? clean({ ...value }, scrub) : value
  }
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, name.endsWith('_base64') ? value : cleaned(value)]),
  )
}

function describeIssues(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): string {
  return issues
    .slice(0, 5)
    .map(({ path, message }) => `${path.map(String).join('.') || 'params'}: ${message}`)
    .join('; ')
}
