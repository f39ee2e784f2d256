import { agentBrowserParams, handOverCode } from '@flotilla/protocol/browser-api'
import type { BrowserActReply } from '@flotilla/protocol/browser-api'
import { captchaSchema } from '@flotilla/protocol/browser-service-api'
import type { BrowserAction, BrowserActionData } from '@flotilla/protocol/browser-service-api'
import { browserActionNames, isBrowserAction } from '@flotilla/protocol/browser-actions'
import { browserTools } from '@flotilla/protocol/browser-tools'
import { imageMaxBytes } from '@flotilla/protocol/image-type'
import { jsonObjectSchema } from '@flotilla/protocol/json-value'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import { actorOf } from '@flotilla/identity/access'
import type { Caller, Guard, RunTicket } from '@flotilla/identity/access'
import type { CredentialCall, OpenCredentials } from '@flotilla/egress/credentials'
import type { EventBus } from '@flotilla/foundation/events'
import type { LoopShare } from '@flotilla/foundation/intake'
import type { Journal } from '@flotilla/foundation/journal'
import type { BrowserFiles } from './browser-files.ts'
import type { AnswerCaptchas, AskedCaptcha } from './captcha/answer-captchas.ts'
import { solverName } from './hand-overs.ts'
import type { HandOvers } from './hand-overs.ts'
import type { BrowserSessions } from './sessions.ts'
import { shownPage } from './shown-page.ts'
import type { ShownPage } from './shown-page.ts'

export interface ActLine {
  /** Must be called right before the first byte of the request is sent. */
  readonly dispatching: () => void
  readonly signal: AbortSignal
}

/**
 * Carries out one action in the browser of the calling agent. A refusal of the browser is a value, because
 * the browser was called. Throws `denied`, `bad-request`, `browsers-full`, `browser-unavailable`,
 * `credential-unknown`, `credential-refused` before the browser is called, and `upstream-failed` or
 * `upstream-timeout` if it gave no answer.
 */
export type ActInBrowser = (
  caller: Caller,
  request: { readonly action: string; readonly params: JsonObject },
  line: ActLine,
) => Promise<BrowserActReply>

export interface ActDeps {
  readonly guard: Guard
  /** Opens and closes the browsers of agents. */
  readonly sessions: BrowserSessions
  readonly handOvers: HandOvers
  readonly captchas: Pick<AnswerCaptchas, 'begin'>
  readonly files: BrowserFiles
  /** The agents' shares of the event loop, to which cleaning the answers of their browsers is charged. */
  readonly loop: Pick<LoopShare, 'spend'>
  readonly credentials: OpenCredentials
  readonly holdLease: (run: RunTicket | null) => () => void
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
}

type AgentCaller = Extract<Caller, { kind: 'agent' }>

export function createActInBrowser(deps: ActDeps): ActInBrowser {
  const { sessions, handOvers, journal } = deps

  /** If the browser is handed over, makes the agent's run wait and returns a reply to the agent; otherwise null. */
  function heldByPerson({ agentId, run }: AgentCaller): BrowserActReply | null {
    const handOver = handOvers.of(agentId)
    if (handOver === null) return null
    if (run !== null) handOvers.wait(handOver, run.runId)
    const { takenBy } = handOver
    const who =
      takenBy === solverName
        ? 'A CAPTCHA is being answered in'
        : takenBy === null
          ? 'A person is asked to help in'
          : 'A person is controlling'
    return {
      ok: false,
      code: handOverCode,
      message: `${who} your browser${handOver.host === '' ? '' : ` (${handOver.host})`}. End your turn now. You are called again, with what changed, when the browser is given back to you.`,
    }
  }

  async function ready(
    action: BrowserAction,
    params: JsonObject,
    of: { readonly caller: AgentCaller; readonly credentials: CredentialCall; readonly signal: AbortSignal },
  ): Promise<Readonly<Record<string, unknown>>> {
    const { agentId } = of.caller
    // Returns a credential for the current page. The browser checks the field's frame again when it types.
    const secretIn = (text: string) => of.credentials.fillField(text, sessions.of(agentId).page.url)
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the mesh adds something to three alone
    switch (action) {
      case 'type': {
        const typed = readParams('type', params)
        const secret = secretIn(typed.text)
        return secret === null ? typed : { ...typed, text: '', secret }
      }
      case 'fill_form': {
        const { fields } = readParams('fill_form', params)
        const filled = Object.entries(fields).map(([ref, value]) => {
          const secret = secretIn(value)
          return secret === null ? { ref, value } : { ref, value: '', secret }
        })
        return { fields: filled }
      }
      case 'upload_file': {
        const { ref, paths } = readParams('upload_file', params)
        return { ref, files: await deps.files.read(agentId, paths, of.signal) }
      }
      default:
        return readParams(action, params)
    }
  }

  /** Returns the reply for the model as text, with a picture if the action gave one. */
  async function answer(
    action: BrowserAction,
    data: Readonly<Record<string, unknown>>,
    of: { readonly caller: AgentCaller; readonly page: ShownPage; readonly signal: AbortSignal },
  ): Promise<{ readonly data: object; readonly notes: string[]; readonly picture?: Picture }> {
    if (action === 'screenshot') {
      const { image_base64, mime_type, ...rest } = data as BrowserActionData['screenshot'] // read by its schema
      if (image_base64.length > (imageMaxBytes / 3) * 4) {
        return { data: rest, notes: ['The picture is too large: take one without full_page.'] }
      }
      return { data: rest, notes: [], picture: { media_type: mime_type, base64: image_base64 } }
    }
    if (action === 'download') {
      const { content_base64, ...rest } = data as BrowserActionData['download'] // read by its schema
      const { agentId } = of.caller
      const path = await deps.files.write(agentId, { name: rest.name, content_base64 }, of.signal)
      const file = { path, size_bytes: rest.size_bytes, host: of.page.host }
      deps.events.publish({ type: 'browser.downloaded', agent_id: agentId, ...file })
      return { data: { ...rest, path }, notes: [] }
    }
    return { data, notes: [] }
  }

  return async (caller, { action, params }, { dispatching, signal }) => {
    deps.guard(caller, { do: 'use-browser', browserAction: action })
    if (caller.kind !== 'agent') throw new Problem('denied')
    if (!isBrowserAction(action))
      throw badRequest(
        `the browser does not know ${action.slice(0, 60)}; it knows ${browserActionNames.join(', ')}`,
      )
    const held = heldByPerson(caller)
    if (held !== null) return held
    const { agentId } = caller
    const credentials = deps.credentials(caller)
    const record = (detail: Record<string, string>) =>
      journal.append({
        actor: actorOf(caller),
        action: 'browser.acted',
        subject: sessions.of(agentId).page.host,
        detail: { action, run: caller.run?.runId ?? '', ...detail },
      })
    const release = deps.holdLease(caller.run)
    try {
      const filled = await ready(action, params, { caller, credentials, signal })
      return await sessions.use(agentId, signal, async (service): Promise<BrowserActReply> => {
        // A person may have taken over the browser while it started.
        const taken = heldByPerson(caller)
        if (taken !== null) return taken
        // The agent may have lost the permission, or its run may have ended, while the browser started.
        deps.guard(caller, { do: 'use-browser', browserAction: action })
        dispatching()
        const { deadlineMs } = browserTools[action]
        const reply = await service.act(action, { params: filled, deadlineMs, signal })
        if (!reply.ok) {
          record({ problem: reply.problem.code })
          return { ok: false, ...reply.problem, message: credentials.scrub.text(reply.problem.message) }
        }
        const { page, captcha } = deps.loop.spend(agentId, () => pageIn(reply.data, credentials))
        sessions.shows(agentId, page)
        const { data, notes, picture } = await answer(action, reply.data, { caller, page, signal })
        record({})
        const answerNotes = captcha ? await answerOrAsk(caller, captcha, page) : []
        return {
          ok: true,
          data: deps.loop.spend(agentId, () => jsonObjectSchema.parse(scrubbed(data, credentials))),
          notes: [...notes, ...answerNotes],
          ...(picture ? { picture } : {}),
        }
      })
    } catch (error) {
      record({ problem: error instanceof Problem ? error.code : 'failed' })
      throw error
    } finally {
      release()
    }
  }

  /** Passes a CAPTCHA to the paid solver, or to a person. Returns notes about that for the agent. */
  async function answerOrAsk(
    caller: AgentCaller,
    captcha: AskedCaptcha['captcha'],
    page: ShownPage,
  ): Promise<readonly string[]> {
    const shown = { ...page, host: captcha.host || page.host }
    const begun = await deps.captchas.begin({ ...caller, captcha, page: shown })
    if (begun === null) return askPerson(caller, shown)
    return [
      `${shown.host} shows a CAPTCHA, which is being solved for you. End your turn now. You are called again, with what changed, when the CAPTCHA is solved. Until then you cannot use your browser.`,
    ]
  }

  function askPerson({ agentId, run }: AgentCaller, page: ShownPage): readonly string[] {
    const handOver = handOvers.ask(agentId, page)
    if (run !== null) handOvers.wait(handOver, run.runId)
    return [
      `${page.host} shows a CAPTCHA, and a person was asked to solve it. End your turn now. You are called again, with what changed, when your browser is given back to you. Until then you cannot use your browser.`,
    ]
  }
}

interface Picture {
  readonly media_type: string
  readonly base64: string
}

const pageOfReply = z.looseObject({
  page: z.looseObject({ url: z.string(), title: z.string(), tabs: z.number() }),
  captcha: z.optional(captchaSchema),
})

/** Returns the front page and the CAPTCHA on it, without values of credentials. */
function pageIn(data: Readonly<Record<string, unknown>>, { scrub }: CredentialCall) {
  const { page, captcha } = z.parse(pageOfReply, data)
  const { url, title, tabs } = page
  return { page: shownPage({ url: scrub.text(url), title: scrub.text(title), tabs }), captcha }
}

function readParams<Action extends BrowserAction>(
  action: Action,
  params: JsonObject,
): z.output<(typeof agentBrowserParams)[Action]> {
  const read = z.safeParse(agentBrowserParams[action], params)
  if (read.success) return read.data as z.output<(typeof agentBrowserParams)[Action]> // of that very schema
  const issues = read.error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.')}: ${message}`)
  throw badRequest(issues.join('; ').slice(0, 500))
}

/** Returns the reply without values of credentials, wherever a page shows such values. */
function scrubbed(value: unknown, credentials: CredentialCall): unknown {
  if (typeof value === 'string') return credentials.scrub.text(value)
  if (Array.isArray(value)) return value.map((item: unknown) => scrubbed(item, credentials))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, scrubbed(item, credentials)]))
}

function badRequest(detail: string): Problem {
  return new Problem('bad-request', { detail })
}
