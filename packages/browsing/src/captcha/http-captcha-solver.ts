import { captchaToken } from '@flotilla/protocol/browser-service-api'
import type { Clock } from '@flotilla/protocol/clock'
import { jsonLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import * as z from 'zod'
import { startDeadline } from '@flotilla/egress/egress'
import type { PinnedFetch } from '@flotilla/egress/egress'
import { readJson } from '@flotilla/foundation/intake'
import { nanoFromUsd } from '@flotilla/inference/spending'
import type { CaptchaTask, SolveCaptcha, SolverAnswer, SolverCall, SolverProxy } from './captcha-solver.ts'
import { captchaRanges } from '@flotilla/foundation/config'
import { solverLimits } from './solver-limits.ts'

const taskTypes = {
  recaptcha: 'RecaptchaV2Task',
  hcaptcha: 'HCaptchaTask',
  turnstile: 'TurnstileTask',
} as const satisfies Record<CaptchaTask['kind'], string>

const errorCode = /^[A-Z][A-Z0-9_]{0,59}$/
const failureSchema = z.looseObject({ errorId: z.number(), errorCode: z.string().nullish() })
/** Loose schemas, because third parties add fields. */
const createdSchema = failureSchema.extend({
  taskId: z.union([z.int(), z.string().regex(/^[\w-]{1,100}$/)]).nullish(),
})
const resultSchema = failureSchema.extend({
  status: z.string().nullish(),
  solution: z
    .looseObject({ gRecaptchaResponse: z.string().nullish(), token: z.string().nullish() })
    .nullish(),
  /** The cost in US dollars, as a number or as digits. */
  cost: z.union([z.number(), z.string()]).nullish(),
})

/** ADAPTER of `captcha-solver.ts`: `createTask` and `getTaskResult` as JSON over HTTP. No redirect is followed. */
export function httpCaptchaSolver({
  fetch,
  clock,
}: {
  readonly fetch: PinnedFetch
  readonly clock: Clock
}): SolveCaptcha {
  async function ask<Schema extends z.ZodType>(
    call: SolverCall,
    {
      method,
      body,
      schema,
      onLeaving = () => {},
    }: {
      readonly method: 'createTask' | 'getTaskResult'
      readonly body: object
      readonly schema: Schema
      readonly onLeaving?: () => void
    },
  ): Promise<z.output<Schema>> {
    const url = new URL(`${call.url.replace(/\/+$/, '')}/${method}`)
    const deadline = startDeadline(clock, solverLimits.requestTimeoutMs, call.signal)
    try {
      const reply = await fetch(
        {
          url,
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json' },
          onLeaving,
          body: JSON.stringify({ clientKey: call.key.reveal(), ...body }),
        },
        deadline.signal,
      )
      try {
        const text = await readBounded(reply.body, deadline.signal)
        if (reply.status !== 200) throw failed(`${url.host} answered ${reply.status}`)
        return parsed(schema, text, url.host)
      } finally {
        await reply.close()
      }
    } finally {
      deadline.clear()
    }
  }

  /** Polls until there is an answer; a failed poll is repeated. */
  async function awaitAnswer(call: SolverCall, taskId: number | string): Promise<SolverAnswer> {
    for (;;) {
      await clock.sleep(solverLimits.pollEveryMs, call.signal)
      const result = await ask(call, {
        method: 'getTaskResult',
        body: { taskId },
        schema: resultSchema,
      }).catch(() => null)
      call.signal.throwIfAborted()
      if (result === null) continue
      if (result.errorId !== 0) return { kind: 'refused', why: `the solver reported ${codeOf(result)}` }
      if (result.status === 'processing') continue
      const token = result.solution?.gRecaptchaResponse ?? result.solution?.token ?? ''
      if (result.status !== 'ready' || !captchaToken.test(token)) {
        return { kind: 'lost', why: 'the answer of the solver has an unknown form' }
      }
      return { kind: 'solved', token, costNano: costOf(result.cost) }
    }
  }

  return async (task, options) => {
    const deadline = startDeadline(clock, solverLimits.answerWithinMs, options.signal)
    const call = { ...options, signal: deadline.signal }
    let hasLeft = false
    const onLeaving = () => {
      hasLeft = true
    }
    try {
      const body = { task: wireTask(task, call.proxy) }
      const created = await ask(call, { method: 'createTask', body, schema: createdSchema, onLeaving })
      if (created.errorId !== 0) return { kind: 'refused', why: `the solver reported ${codeOf(created)}` }
      if (created.taskId == null) return { kind: 'lost', why: 'the solver returned no task id' }
      return await awaitAnswer(call, created.taskId)
    } catch (error) {
      return { kind: hasLeft ? 'lost' : 'refused', why: whyOf(error, options.signal, deadline.signal) }
    } finally {
      deadline.clear()
    }
  }
}

/** Returns the reason of a failure in the mesh's own words, without text of the solver. */
function whyOf(error: unknown, callSignal: AbortSignal, deadline: AbortSignal): string {
  if (callSignal.aborted) return 'the mesh stopped'
  if (deadline.aborted) return 'the solver did not answer in time'
  return error instanceof Problem ? (error.detail ?? error.code) : 'the connection to the solver was lost'
}

function wireTask(task: CaptchaTask, proxy: SolverProxy | null): object {
  const site = { websiteURL: task.pageUrl, websiteKey: task.siteKey }
  if (proxy === null) return { type: `${taskTypes[task.kind]}Proxyless`, ...site }
  const { login, password } = proxy
  return {
    type: taskTypes[task.kind],
    ...site,
    proxyType: proxy.type,
    proxyAddress: proxy.address,
    proxyPort: proxy.port,
    ...(login === null ? {} : { proxyLogin: login.reveal() }),
    ...(password === null ? {} : { proxyPassword: password.reveal() }),
  }
}

function parsed<Schema extends z.ZodType>(schema: Schema, text: string, host: string): z.output<Schema> {
  try {
    return schema.parse(readJson(text, jsonLimits.serverReply))
  } catch (cause) {
    throw failed(`${host} answered in an unknown form`, cause)
  }
}

async function readBounded(body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    signal.throwIfAborted()
    bytes += chunk.length
    if (bytes > solverLimits.replyMaxBytes)
      throw failed(`the answer of the solver has more than ${solverLimits.replyMaxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Returns the cost of one answer in nano-dollars; null if the solver reported an invalid one. */
function costOf(cost: number | string | null | undefined): number | null {
  const usd = typeof cost === 'string' && cost.trim() !== '' ? Number(cost) : cost
  if (typeof usd !== 'number' || !Number.isFinite(usd)) return null
  return usd < 0 || usd > captchaRanges.answerUsd.max ? null : nanoFromUsd(usd)
}

function codeOf({ errorCode: code }: z.output<typeof failureSchema>): string {
  return code != null && errorCode.test(code) ? code : 'an error without a code'
}

function failed(detail: string, cause?: unknown): Problem {
  return new Problem('upstream-failed', { detail, cause })
}
